// Serves the project as `npx vite` does. Prints the port.

import { createServer } from 'vite';

const server = await createServer({
  configFile: false, logLevel: 'error', optimizeDeps: { exclude: ['wgpu-cast-web'] }, server: { host: '127.0.0.1', port: 0 },
});
await server.listen();
console.log(server.httpServer.address().port);
