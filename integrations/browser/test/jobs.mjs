// One job at a time: what people do while it runs, what stays of it, and where the focus is.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { npy } from './files.mjs';
import { assert, equal, floats } from './harness.mjs';

/** The text of an element. */
export const text = (page, selector) => page.$eval(selector, (found) => found.textContent);

/** Waits until an element has this text, or one that starts so. */
export const until = (page, selector, start) => page.waitForFunction(
  (wanted, from) => document.querySelector(wanted).textContent.startsWith(from), {}, selector, start,
);

export const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.localName);

/** Drops files on the middle of the page. */
const drop = (page, files) => page.evaluate((given) => {
  const dataTransfer = new DataTransfer();
  given.forEach(({ name, bytes }) => dataTransfer.items.add(new File([new Uint8Array(bytes)], name)));
  const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
  document.querySelector('main').dispatchEvent(event);
  return event.defaultPrevented;
}, files);

/** Files of 1,000 floats in a folder that is removed at the end. */
export async function withFiles(work) {
  const folder = mkdtempSync(join(tmpdir(), 'wgpu-cast-jobs-'));
  const put = (name, bytes = npy('<f4', 1000, floats(1000))) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  try {
    return await work(put);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Lets no output be opened until the page's `release` is called. */
const hold = (page) => page.evaluate(() => new Promise((held) => {
  navigator.locks.request('output', () => new Promise((release) => { globalThis.release = release; held(); }));
}));

const choose = async (page, path) => (await page.$('#file')).uploadFile(path);

/** The names of the files that pickers of the page have made. */
const made = (page) => page.evaluate(async () => {
  const names = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name);
  return names.sort();
});

const BUSY = 'A file is being cast. Wait for the end, or stop it, and try again.';

/** A second job is refused while one runs, and neither its file nor its options can change. */
async function second(browser, put) {
  const page = await browser.page({ variant: 'held-output' });
  await choose(page, put('a.npy'));
  await hold(page);
  await page.click('#start');
  await until(page, '#cast-status', 'A file is being cast.');
  const locked = ['#file', '#to', '#device', '#sample', '#start'];
  for (const selector of locked) {
    assert(await page.$eval(selector, (field) => field.matches(':disabled')), `${selector} is locked during a cast`);
  }
  assert(await drop(page, [{ name: 'b.npy', bytes: [] }]), 'a file that is dropped does not replace the page');
  equal(await text(page, '#cast-status'), BUSY, 'a file that is dropped during a cast');
  equal(await text(page, '#chosen'), 'a.npy, 4.13 kB.', 'the file that is cast');
  await page.evaluate(async () => (await import('./views/cast.js')).cast());
  equal(await page.evaluate(() => globalThis.picked), ['a-float16.npy'], 'no second cast has begun');
  for (const view of ['verify', 'bench']) {
    await page.click(`#tab-${view}`);
    await page.click(`#${view}-start`);
    equal(await text(page, `#${view}-status`), BUSY, `${view} during a cast`);
  }
  await page.click('#tab-cast');
  await page.evaluate(() => globalThis.release());
  await until(page, '#cast-status', 'a-float16.npy: 4.13 kB → 2.13 kB in ');
  for (const selector of locked) assert(await page.$eval(selector, (field) => !field.matches(':disabled')), selector);
  equal(page.errors, [], 'errors of the page');
  await page.close();
}

/** A file that is chosen while WebAssembly loads is cast. */
async function early(browser, put, server) {
  const page = await browser.page({ variant: 'held-module', wait: '#version' });
  await choose(page, put('early.npy'));
  await page.waitForFunction(() => document.title === 'Cast · wgpu-cast');
  equal(await text(page, '#chosen'), 'early.npy, 4.13 kB.', 'the file that was chosen before the page was ready');
  // Its requests are answered from here on, also those of the worker.
  const timer = setInterval(server.release, 20);
  await page.waitForSelector('#start:not(:disabled)');
  clearInterval(timer);
  await page.click('#start');
  await until(page, '#cast-status', 'early-float16.npy: ');
  await page.close();
}

/** Drops of text, of several files, and of one. */
async function dropped(browser) {
  const page = await browser.page();
  const one = { name: 'one.npy', bytes: [...npy('<f4', 2, Buffer.alloc(8))] };
  await drop(page, [one]);
  equal(await text(page, '#chosen'), 'one.npy, 136 bytes.', 'a file that was dropped');
  equal(await page.$eval('#file', (input) => input.files[0].name), 'one.npy', 'what the field shows');
  assert(!await drop(page, []), 'text goes where it is dropped');
  equal(await text(page, '#chosen'), 'one.npy, 136 bytes.', 'text that was dropped');
  await drop(page, [one, { name: 'two.npy', bytes: [] }]);
  equal(await text(page, '#cast-status'), 'Drop one file. 2 were dropped, and none was taken.', 'two files');
  await page.close();
}

/** A driver that never answers keeps nobody from casting. */
async function silent(browser, put) {
  const page = await browser.page({ variant: 'no-answer', wait: 'body[data-ready]' });
  equal(await text(page, '#adapter'), 'Casts run on the CPU. Looking for a GPU …', 'before the driver answers');
  await choose(page, put('c.npy'));
  await page.click('#start');
  await until(page, '#cast-status', 'c-float16.npy: ');
  await page.close();
}

/** What fails or is cancelled leaves no file, and says what to do. */
async function unmade(browser, put) {
  const page = await browser.page({ variant: 'held-output' });
  const before = await made(page);
  await choose(page, put('short.npy', npy('<f4', 10, Buffer.alloc(39))));
  await page.click('#start');
  await until(page, '#cast-status', 'FileError: ');
  equal(await page.evaluate(() => globalThis.picked), [], 'a file that is not valid is refused before a name is asked for');
  await choose(page, put('cancelled.npy'));
  await hold(page);
  await page.click('#start');
  await page.waitForFunction(() => globalThis.picked.length === 1);
  await page.click('#cancel');
  await page.evaluate(() => globalThis.release());
  await until(page, '#cast-status', 'Cancelled. The output was discarded.');
  equal(await made(page), before, 'the file that the picker made is removed');
  await page.click('#tab-cast');
  const path = put('changed.npy');
  await choose(page, path);
  put('changed.npy', Buffer.alloc(7));
  await page.click('#start');
  await until(page, '#cast-status', 'NotReadableError: the file was changed or moved since it was chosen. Choose it again.');
  equal(await text(page, '#chosen'), '', 'the file that is to be chosen again');
  await page.click('#start');
  equal(await text(page, '#cast-status'), 'Choose a .npy, .safetensors, .pb or .bin file first.', 'no file');
  equal(await focused(page), 'file', 'the focus');
  await page.close();
}

export async function jobs({ browser, server }) {
  await withFiles(async (put) => {
    await second(browser, put);
    await early(browser, put, server);
    await dropped(browser);
    await silent(browser, put);
    await unmade(browser, put);
  });
  return 'a second job, a file before the page is ready, drops, a silent driver, outputs that are not made';
}

/** Results go when the file or an option changes. */
export async function stale({ browser }) {
  await withFiles(async (put) => {
    const page = await browser.page();
    const results = ['#cast-status', '#download', '#losses'];
    const empty = async (cause) => {
      for (const selector of results) equal(await text(page, selector), '', `${selector} after ${cause}`);
    };
    const again = async () => {
      await page.click('#sample');
      await page.waitForSelector('#losses table');
      equal(await text(page, '#download'), 'Save sample-float16.npy', 'the link');
    };
    await again();
    await page.select('#from', 'float');
    await empty('another option');
    await again();
    await choose(page, put('d.npy'));
    await empty('another file');
    await page.click('#tab-verify');
    await page.click('#verify-start');
    await page.waitForSelector('#verify-report:not([hidden])');
    await page.select('#extent', 'thorough');
    assert(await page.$eval('#verify-report', (report) => report.hidden), 'the report of other options');
    equal(await text(page, '#verify-status'), '', 'the summary of other options');
    await page.click('#tab-bench');
    await page.select('#elements', '1048576');
    await page.click('#bench-start');
    await until(page, '#bench-status', '4 casts were measured.');
    await page.select('#elements', '4194304');
    assert(await page.$eval('#rates', (table) => table.hidden && table.tBodies.length === 0), 'the rates of other options');
    equal(await text(page, '#bench-status'), '', 'the status of other options');
    await page.close();
  });
  return 'casts, verification and measurements';
}

/** Starts and stops by keyboard leave the focus where the user goes on. */
export async function focus({ browser }) {
  await withFiles(async (put) => {
    const page = await browser.page({ variant: 'held-output' });
    const press = async (selector) => {
      await page.focus(selector);
      await page.keyboard.press('Enter');
    };
    await choose(page, put('f.bin'));
    await press('#start');
    const wanted = 'A .bin file does not tell the element type of its codes: choose the type in From.';
    equal(await text(page, '#cast-status'), wanted, 'a .bin file without a type');
    equal(await focused(page), 'from', 'the focus after it');
    equal(await page.$eval('#from', (from) => from.selectedOptions[0].textContent), 'choose a type', 'the first choice');
    await choose(page, put('f.npy'));
    await hold(page);
    await press('#start');
    await until(page, '#cast-status', 'A file is being cast.');
    equal(await focused(page), 'cancel', 'during a cast');
    await page.evaluate(() => globalThis.release());
    await until(page, '#cast-status', 'f-float16.npy: ');
    await page.waitForFunction(() => document.activeElement.id === 'cast-result');
    await press('#sample');
    await page.waitForSelector('#losses table');
    await page.waitForFunction(() => document.activeElement.id === 'cast-result');
    for (const view of ['verify', 'bench']) {
      await page.click(`#tab-${view}`);
      await press(`#${view}-start`);
      equal(await focused(page), `${view}-stop`, `${view}: during the job`);
      await page.keyboard.press('Enter');
      await page.waitForFunction((id) => document.activeElement.id === id, {}, `${view}-result`);
      equal(await text(page, `#${view}-status`).then((told) => told.split(' ').slice(0, 2).join(' ')), 'Stopped after', view);
    }
    // Who reads another view stays there.
    await page.click('#bench-start');
    await page.click('#tab-kernels');
    await page.focus('#wgsl');
    await page.waitForSelector('#bench-start:not(:disabled)');
    equal(await focused(page), 'wgsl', 'the focus in another view');
    await page.close();
  });
  return 'casts, a sample, verification, measurements, and a refusal';
}
