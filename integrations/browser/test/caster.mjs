// Casts on devices of the tests' own: in Node, on Dawn with the driver that comes with Chromium, and in Chromium; and the examples.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { assert, equal, NotRun } from './harness.mjs';
import { npm } from './packages.mjs';
import { serve } from './server.mjs';

/** Chromium's driver for the CPU, which is beside the browser. */
function driver(executable) {
  const folders = [dirname(realpathSync(executable)), '/usr/lib/chromium', '/opt/google/chrome'];
  return folders.map((folder) => `${folder}/vk_swiftshader_icd.json`).find(existsSync);
}

/** Runs a program of Node on Dawn. Returns its lines. */
function onDawn(executable, program, ...given) {
  const found = driver(executable);
  const drivers = found ? { VK_ICD_FILENAMES: found, VK_DRIVER_FILES: found } : {};
  const { status, stdout, stderr } = spawnSync('node', [fileURLToPath(new URL(program, import.meta.url)), ...given], {
    env: { ...process.env, ...drivers }, encoding: 'utf8',
  });
  if (status === 3) throw new NotRun(stderr.trim().split('\n').at(-1).replace(/^NOT RUN: /, ''));
  assert(status === 0, `${stdout}\n${stderr}`);
  return stdout.trim().split('\n');
}

export async function node(target, executable, every) {
  return onDawn(executable, 'device/node.mjs', `${target}/npm`, String(every)).join('\n        ');
}

/** The examples with the package as npm would install it, and the tests for a device. */
function pages(target) {
  const folder = `${target}/examples`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}/node_modules`, { recursive: true });
  const copy = (from, to) => cpSync(fileURLToPath(new URL(from, import.meta.url)), `${folder}/${to}`, { recursive: true });
  copy('../examples', '.');
  copy('device', 'device');
  cpSync(`${target}/npm`, `${folder}/node_modules/wgpu-cast-web`, { recursive: true });
  return folder;
}

/** Opens a page of the examples, and calls a function with it. */
async function opened(browser, folder, address, call) {
  const server = await serve(folder);
  const page = await browser.browser.newPage();
  page.setDefaultTimeout(3_600_000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`http://127.0.0.1:${server.port}/${address}`);
  await page.waitForSelector('body[data-done]');
  const told = await call(page);
  equal(errors, [], 'errors of the page');
  await page.close();
  server.close();
  return told;
}

export async function chromium(target, browser, every) {
  const { passed, lines } = await opened(browser, pages(target), '?matmul', (page) => page.evaluate((pairs) => {
    const worker = new Worker('./device/worker.js', { type: 'module' });
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ every: pairs });
    });
  }, every));
  assert(passed, lines.join('\n'));
  return lines.join('\n        ');
}

/** An example in a page. `install`: whether it needs packages of the registry. */
export async function example(target, browser, name, { install = false } = {}) {
  const folder = pages(target);
  if (install) {
    npm(folder, 'ci');
    cpSync(`${target}/npm`, `${folder}/node_modules/wgpu-cast-web`, { recursive: true });
  }
  const told = await opened(browser, folder, `?${name}`, (page) => page.$eval('body', (body) => body.textContent));
  assert(told.startsWith('ok: '), told);
  return told.slice('ok: '.length);
}

/** What binding and recording cost beside code written by hand, in Node and in Chromium. No assertion is made of times. */
export async function overhead(target, executable, browser) {
  const inNode = onDawn(executable, 'device/node.mjs', `${target}/npm`, 'overhead').join('\n');
  const inChromium = await opened(browser, pages(target), '?matmul', (page) => page.evaluate(async () => {
    const web = await import('wgpu-cast-web');
    const { overhead: measured } = await import('./device/overhead.js');
    return measured({ web, device: await (await navigator.gpu.requestAdapter()).requestDevice() });
  }));
  return `in Node: ${inNode}\n        in Chromium: ${inChromium}`;
}
