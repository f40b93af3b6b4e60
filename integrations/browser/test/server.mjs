// Serves the page from this machine. Below `/NAME/`, the worker starts with the script of a variant: what a browser without
// WebGPU, or with a faulty one, looks like.

import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm',
};

/** Refuses kernels, by a condition on how many were compiled. */
const kernels = (refused) => `const compile = GPUDevice.prototype.createShaderModule;
    let compiled = 0;
    GPUDevice.prototype.createShaderModule = function (descriptor) {
      compiled += 1;
      return compile.call(this, ${refused} ? { ...descriptor, code: 'this is no WGSL' } : descriptor);
    };`;

/** What the worker runs before anything else. */
export const VARIANTS = {
  // Adapters look like hardware, so that the kernels for hardware run.
  hardware: `Object.defineProperty(GPUAdapterInfo.prototype, 'isFallbackAdapter', { get: () => false });`,
  'no-webgpu': `Object.defineProperty(WorkerNavigator.prototype, 'gpu', { get: () => undefined });`,
  'no-adapter': `GPU.prototype.requestAdapter = async () => null;`,
  'no-answer': `GPU.prototype.requestAdapter = () => new Promise(() => {});`,
  // An output is opened when nobody else holds a lock.
  'held-output': `const open = FileSystemFileHandle.prototype.createWritable;
    FileSystemFileHandle.prototype.createWritable = async function () {
      await navigator.locks.request('output', () => {});
      return open.call(this);
    };`,
  'no-device': `GPUAdapter.prototype.requestDevice = async () => {
    throw new DOMException('the test has no device', 'OperationError');
  };`,
  'no-kernel': kernels('true'),
  // All but the one that tests a device when it is opened.
  'bad-kernel': kernels('compiled > 1'),
  'bad-kernel-once': kernels('compiled === 2'),
  'bad-buffer': `const create = GPUDevice.prototype.createBuffer;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      const large = descriptor.label === 'cast source' && descriptor.size > 1000;
      return create.call(this, large ? { ...descriptor, size: this.limits.maxBufferSize + 4 } : descriptor);
    };`,
  'no-memory': `const pop = GPUDevice.prototype.popErrorScope;
    const create = GPUDevice.prototype.createBuffer;
    const [push, filters] = [GPUDevice.prototype.pushErrorScope, []];
    let full = false;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      full ||= descriptor.label === 'cast source' && descriptor.size > 1000;
      return create.call(this, descriptor);
    };
    GPUDevice.prototype.pushErrorScope = function (filter) { filters.push(filter); return push.call(this, filter); };
    GPUDevice.prototype.popErrorScope = async function () {
      const filter = filters.pop();
      const error = await pop.call(this);
      return filter === 'out-of-memory' && full ? new GPUOutOfMemoryError('the test has no memory') : error;
    };`,
  // A driver that computes one wrong bit.
  'wrong-bits': `const range = GPUBuffer.prototype.getMappedRange;
    GPUBuffer.prototype.getMappedRange = function (...given) {
      const bytes = range.apply(this, given);
      if (this.label === 'cast read-back') new Uint8Array(bytes)[8] ^= 1;
      return bytes;
    };`,
  // The device is lost in the middle of a cast: after some submissions.
  'lost-once': `const submit = GPUQueue.prototype.submit;
    const request = GPUAdapter.prototype.requestDevice;
    const devices = new WeakMap();
    let submissions = 0;
    GPUAdapter.prototype.requestDevice = async function (...given) {
      const device = await request.apply(this, given);
      devices.set(device.queue, device);
      return device;
    };
    GPUQueue.prototype.submit = function (commands) {
      submissions += 1;
      if (submissions === 3) devices.get(this).destroy();
      return submit.call(this, commands);
    };`,
};
// The module with the GPU is not served.
VARIANTS['no-module'] = '';
// The module without the GPU is served when the test says so.
VARIANTS['held-module'] = '';
VARIANTS['lost-always'] = VARIANTS['lost-once'].replace('submissions === 3', 'submissions % 3 === 0');

/** Starts to serve a folder. Further folders are served below their names. */
export async function serve(folder, more = {}) {
  const held = [];
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://server').pathname));
    const [, first, ...rest] = path.split('/');
    const variant = Object.hasOwn(VARIANTS, first) ? VARIANTS[first] : undefined;
    const below = variant !== undefined || Object.hasOwn(more, first);
    const file = below ? rest.join('/') : path;
    const name = join(more[first] ?? folder, file.endsWith('/') || file === '' ? `${file}index.html` : file);
    try {
      response.setHeader('Content-Type', TYPES[extname(name)] ?? 'application/octet-stream');
      response.setHeader('Cache-Control', 'no-store');
      if (variant !== undefined && file === 'worker.js') {
        response.end(`${variant}\n${readFileSync(name, 'utf8')}`);
        return;
      }
      if (first === 'no-module' && rest[0] === 'gpu') throw new Error('the test has no module');
      response.setHeader('Content-Length', statSync(name).size);
      const send = () => createReadStream(name).pipe(response);
      if (first === 'held-module' && name.endsWith('.wasm')) held.push(send);
      else send();
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const release = () => held.splice(0).forEach((send) => send());
  return { port: server.address().port, close: () => server.close(), release };
}
