// Tests the page in Chromium. Arguments: the browser's path, --all for the tests that take long, and a word to choose tests by
// their names. Prints a line for each test; fails if one fails.

import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { chromium as casterInChromium, example, node as casterInNode, overhead } from './caster.mjs';
import { faults } from './faults.mjs';
import { files, large } from './files.mjs';
import { golden } from './golden.mjs';
import { Browser, call, NotRun } from './harness.mjs';
import { focus, jobs, stale } from './jobs.mjs';
import { many, together, watch } from './load.mjs';
import { foreigners, names, scaled, shares, sizes } from './names.mjs';
import { node, vite, viteServes } from './packages.mjs';
import { serve } from './server.mjs';
import { times } from './times.mjs';
import { verify, wrong } from './verify.mjs';
import { views } from './view.mjs';
import { visitor } from './visitor.mjs';

const [executable, ...flags] = process.argv.slice(2);
const all = flags.includes('--all');
const only = flags.find((flag) => !flag.startsWith('--'));
const target = fileURLToPath(new URL('../target', import.meta.url));

// What the tests need beside the page.
copyFileSync(new URL('times-worker.js', import.meta.url), `${target}/page/times.js`);
const server = await serve(`${target}/page`);
const browser = await Browser.open(executable, server.port).catch((error) => {
  console.error(error);
  console.error('NOT RUN: the page in a browser: Chromium does not start (see above)');
  process.exit(3);
});
const start = await browser.page();
const { result: { types } } = await call(start, 'hello');
const { result: device } = await call(start, 'adapter');
await start.close();
const { vendor, architecture, fallback, reason } = device;
console.log(`${await browser.browser.version()}, ${reason ?? `${vendor} ${architecture}, fallback: ${fallback}`}`);
if (reason) {
  console.error(`NOT RUN: the casts on a GPU: the browser has none: ${reason}`);
  process.exitCode = 3;
}

const hardware = 'hardware';
const gpu = !reason;
const devices = gpu ? ['cpu', 'gpu'] : ['cpu'];
const tests = [
  ['golden vectors, CPU', () => golden({ browser, types, device: 'cpu' })],
  gpu && ['golden vectors, GPU', () => golden({ browser, types, device: 'gpu' })],
  ['verify, CPU', () => verify({ browser, device: 'cpu' })],
  gpu && !all && ['verify, GPU, each 7th pair', () => verify({ browser, device: 'gpu', every: 7 })],
  gpu && all && ['verify, GPU', () => verify({ browser, device: 'gpu' })],
  gpu && !all && ['verify, tables, each 29th pair', () => verify({ browser, device: 'gpu', variant: hardware, every: 29 })],
  gpu && all && ['verify, tables', () => verify({ browser, device: 'gpu', variant: hardware })],
  gpu && all && ['verify thoroughly, each 53rd pair', () => verify({ browser, device: 'gpu', thorough: true, every: 53 })],
  gpu && all && ['golden vectors, tables', () => golden({ browser, types, device: 'gpu', variant: hardware })],
  gpu && ['a wrong bit', () => wrong({ browser })],
  ['files', () => files({ browser, devices })],
  ['faults', () => faults({ browser })],
  ['jobs', () => jobs({ browser, server })],
  ['stale results', () => stale({ browser })],
  ['focus', () => focus({ browser })],
  ['names', () => names({ browser })],
  ['foreign files', () => foreigners({ browser })],
  ['codes with scales', () => scaled({ browser })],
  ['shares', () => shares()],
  ['sizes', () => sizes()],
  ['visitor', () => visitor({ browser, devices })],
  ['at once', () => together({ browser, devices })],
  gpu && ['views', () => views({ browser, folder: `${target}/screenshots` })],
  all && ['many, CPU', () => many({ browser, device: 'cpu' })],
  gpu && all && ['many, GPU', () => many({ browser, device: 'gpu' })],
  all && ['large', () => large({ browser, memory: () => { const end = watch(browser)(); return async () => `${end()} MiB more at most`; } })],
  ['package, Node', () => node(target)],
  ['caster, Node', () => casterInNode(target, executable, all ? 1 : 97)],
  gpu && ['caster, Chromium', () => casterInChromium(target, browser, all ? 1 : 97)],
  gpu && ['example, matmul', () => example(target, browser, 'matmul')],
  gpu && all && ['example, onnxruntime-web', () => example(target, browser, 'onnxruntime', { install: true })],
  ['package, Vite', () => vite(target, browser, serve)],
  all && ['package, Vite serves', () => viteServes(target, browser)],
  gpu && ['times', () => times({ browser })],
  gpu && all && ['overhead', () => overhead(target, executable, browser)],
].filter(Boolean).filter(([name]) => !only || name.includes(only));

for (const [name, test] of tests) {
  const began = Date.now();
  try {
    const told = await test();
    console.log(`ok      ${name} (${((Date.now() - began) / 1000).toFixed(0)} s): ${told}`);
  } catch (error) {
    if (error instanceof NotRun) {
      console.error(`NOT RUN: ${name}: ${error.message}`);
      process.exitCode ??= 3;
      continue;
    }
    console.log(`FAILED  ${name} (${((Date.now() - began) / 1000).toFixed(0)} s): ${error.stack}`);
    process.exitCode = 1;
  }
}
await browser.close();
server.close();
