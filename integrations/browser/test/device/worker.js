// Runs the tests on a device in a worker of a page, which needs neither a bundler nor an import map.

import * as web from '../node_modules/wgpu-cast-web/index.js';
import { run } from './tests.js';

onmessage = async ({ data: { every } }) => {
  const open = async () => (await navigator.gpu.requestAdapter()).requestDevice();
  const file = (name) => import(`../node_modules/wgpu-cast-web/${name}`);
  const lines = [];
  const passed = await run({ web, file, device: await open(), open, every }, (line) => lines.push(line));
  postMessage({ passed, lines });
};
