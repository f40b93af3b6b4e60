// What goes wrong in browsers, by the name of the error that the page gets.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { assert, call, cast, equal, floats, same } from './harness.mjs';
import { convert, npy } from './files.mjs';

/** Several pieces on the GPU, and several slices of a file. */
const ELEMENTS = 16_000_000;

const onGpu = (page, elements = 1000) => (
  cast(page, 'float', floats(elements), elements, 'float16', { device: 'gpu' })
);

const line = (page) => page.$eval('#adapter', (text) => text.textContent);

/** Casts on a GPU that fails, and expects an error of this name. */
async function refused(browser, variant, name, elements) {
  const page = await browser.page({ variant });
  for (const attempt of ['first', 'second']) {
    const { error } = await onGpu(page, elements);
    equal(error?.name, name, `${variant}, ${attempt} cast (${error?.message})`);
  }
  const { bytes } = await cast(page, 'float', floats(10), 10, 'float16');
  equal(bytes.length, 20, 'the CPU casts nevertheless');
  await page.close();
}

/** The page without a GPU: what it tells, the error of a cast, and that it casts on the CPU. */
async function without(browser, variant, told, host) {
  const page = await browser.page({ variant, host });
  const text = await line(page);
  assert(text.includes(told), `${variant ?? host}: ${text}`);
  assert(await page.$eval('body', (body) => body.dataset.gpu === 'no'), 'the page works without a GPU');
  assert(await page.$eval('#device [value="gpu"]', (option) => option.disabled), 'the GPU cannot be chosen');
  const { error } = await onGpu(page);
  equal(error?.name, 'NoAdapter', `${variant ?? host}: ${error?.message}`);
  assert(!error.message.includes('JsValue'), error.message);
  await page.close();
}

/** The page with a GPU that fails when it is opened: it says so when the GPU is chosen, and casts on the CPU. */
async function unusable(browser, variant, told, name = 'NoAdapter') {
  const page = await browser.page({ variant });
  assert(await page.$eval('body', (body) => body.dataset.gpu === 'yes'), 'the GPU can be chosen');
  await page.select('#device', 'gpu');
  await page.waitForSelector('#device [value="gpu"]:disabled');
  const text = await line(page);
  assert(text.includes(told), `${variant}: ${text}`);
  equal(await page.$eval('#device', (device) => device.value), 'cpu', 'the device that is chosen instead');
  equal((await onGpu(page)).error?.name, name, variant);
  await page.close();
}

export async function faults({ browser }) {
  const page = await browser.page();
  const { result: device } = await call(page, 'device');
  equal(device.name, `${device.vendor} ${device.architecture} (webgpu)`, 'the name of an adapter without one');
  await page.close();
  await without(browser, 'no-webgpu', 'no WebGPU');
  await without(browser, undefined, 'secure origin', 'insecure.test');
  await without(browser, 'no-adapter', 'no adapter');
  await without(browser, 'no-device', 'OperationError: the test has no device');
  await unusable(browser, 'no-kernel', 'rejected the kernel');
  await unusable(browser, 'wrong-bits', 'casting float to float16');
  await unusable(browser, 'no-module', 'Failed to fetch', 'TypeError');
  await refused(browser, 'bad-kernel', 'Kernel');
  await refused(browser, 'bad-buffer', 'Device');
  await refused(browser, 'no-memory', 'OutOfMemory');

  // The first error after a loss tells it, and the worker opens another device for the next cast.
  const lost = await browser.page({ variant: 'lost-once' });
  const first = await onGpu(lost, ELEMENTS);
  equal(first.error?.name, 'DeviceLost', `a loss in the middle of a cast: ${first.error?.message}`);
  const again = await onGpu(lost, ELEMENTS);
  assert(!again.error, `after a loss: ${JSON.stringify(again.error)}`);
  await lost.close();
  const idle = await browser.page();
  assert(!(await onGpu(idle)).error, 'a cast before a loss');
  await call(idle, 'lose');
  assert(!(await onGpu(idle)).error, 'a cast after a loss');
  await idle.close();

  // A kernel that is refused once stays refused, and others are compiled.
  const once = await browser.page({ variant: 'bad-kernel-once' });
  equal((await onGpu(once)).error?.name, 'Kernel', 'a refused kernel');
  equal((await onGpu(once)).error?.name, 'Kernel', 'the same kernel again');
  const other = await cast(once, 'float', floats(1000), 1000, 'bfloat16', { device: 'gpu' });
  assert(!other.error, `another kernel: ${JSON.stringify(other.error)}`);
  await once.close();

  // Files: a slice is repeated on a new device; where that is lost too, the CPU casts, and the page says so.
  const folder = mkdtempSync(join(tmpdir(), 'wgpu-cast-faults-'));
  const path = join(folder, 'a.npy');
  writeFileSync(path, npy('<f4', ELEMENTS, floats(ELEMENTS)));
  try {
    const good = await browser.page();
    const expected = (await convert(good, path, 'float16')).bytes;
    await good.close();
    const told = { 'lost-once': 'opened again', 'lost-always': 'The rest was cast on the CPU', 'bad-kernel': 'Kernel' };
    for (const [variant, text] of Object.entries(told)) {
      const faulty = await browser.page({ variant });
      const { bytes, status } = await convert(faulty, path, 'float16', { device: 'gpu' });
      assert(status.includes(text), `${variant}: ${status}`);
      same(bytes, expected, variant);
      await faulty.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return '7 ways to have no GPU, 3 refusals, losses, and 3 files on faulty GPUs';
}
