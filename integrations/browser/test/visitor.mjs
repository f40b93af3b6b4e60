// What somebody sees who opens the page for the first time, and who follows a link to a view.

import { assert, equal } from './harness.mjs';
import { text, until } from './jobs.mjs';

/** The page before anything is done. */
async function first(page) {
  const intro = 'Casts tensors between all element types of ONNX, on the CPU or on a GPU, with the same bits everywhere. '
    + 'This page does it in your browser: files stay on this machine. Documentation · Source';
  equal(await page.$eval('header p', (found) => found.textContent.replace(/\s+/g, ' ').trim()), intro, 'what the page is for');
  equal(await page.$$eval('header a', (links) => links.map((link) => link.href)),
    ['https://docs.rs/wgpu-cast', 'https://docs.rs/crate/wgpu-cast/latest/source/'], 'links');
  assert(/^Casts run on the CPU(\. No GPU casts|, unless you choose the GPU): /.test(await text(page, '#adapter')),
    await text(page, '#adapter'));
  for (const id of ['device', 'verify-device', 'bench-device']) {
    equal(await page.$eval(`#${id}`, (select) => [select.value, select.options[0].value]), ['cpu', 'cpu'], id);
  }
  for (const view of ['cast', 'verify', 'bench', 'kernels']) {
    await page.click(`#tab-${view}`);
    const bars = await page.$$eval('progress, table, h3', (all) => all.filter((each) => each.checkVisibility()).length);
    equal(bars, 0, `bars, tables and headings without content in ${view}`);
  }
  await page.click('#tab-cast');
}

/** One click casts a file. */
async function sampled(page) {
  await page.click('#sample');
  await page.waitForSelector('#losses table');
  equal(await page.evaluate(() => globalThis.picked), [], 'no file is asked for');
  assert(/^sample-float16\.npy: 4\.13 kB → 2\.13 kB in \d+\.\d\d s \([^)]+\)\.$/.test(await text(page, '#cast-status')),
    await text(page, '#cast-status'));
  equal(await page.$eval('#download a', (link) => link.download), 'sample-float16.npy', 'the link');
  equal(await page.$$eval('#losses tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)).slice(0, 2)),
    [['loss', 'values', 'share'], ['sample.npy float → float16, 1,000 values']], 'its losses');
}

/** Addresses with a fragment show a view, also when they change. */
async function fragments(page) {
  const shown = () => page.$$eval('[role="tabpanel"]:not([hidden])', (panels) => panels.map((panel) => panel.id));
  for (const [hash, view] of [['#verify', 'verify'], ['#kernels', 'kernels'], ['#nothing', 'kernels'], ['#cast', 'cast']]) {
    await page.evaluate((next) => { location.hash = next; }, hash);
    await page.waitForFunction((wanted) => location.hash === wanted && document.title.length > 0, {}, `#${view}`);
    equal(await shown(), [view], hash);
  }
  equal(await page.title(), 'Cast · wgpu-cast', 'the title');
}

/** The summary of a verification is whole at the width of a phone, and stays when the report is copied. */
async function summary(page) {
  await page.setViewport({ width: 390, height: 800 });
  await page.click('#tab-verify');
  await page.click('#verify-start');
  await page.waitForSelector('#verify-report:not([hidden])');
  const told = 'Done: 625 of 625 pairs, no wrong result.';
  equal(await text(page, '#verify-status'), told, 'the summary');
  const terms = await page.$$eval('#summary dt', (all) => all.map((term) => term.textContent));
  equal(terms, ['result', 'pairs', 'casts', 'elements', 'seconds', 'checksum of all results', 'extent', 'device', 'wgpu-cast',
    'browser', 'system'], 'its terms');
  await page.click('#verify-report summary');
  const cut = await page.$$eval('#verify *', (all) => all.filter((each) => each.checkVisibility()
    && (each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.clientWidth + 1) && each.clientWidth > 0)
    .map((each) => each.outerHTML.slice(0, 80)));
  equal(cut, [], 'what is cut at 390 pixels');
  await page.browserContext().overridePermissions(new URL(page.url()).origin, ['clipboard-sanitized-write']);
  await page.bringToFront();
  await page.click('#copy');
  await until(page, '#copied', 'The report was copied.');
  equal(await text(page, '#verify-status'), told, 'the summary after copying');
}

/** Measurements by place, each beside a copy. */
async function measured(page, devices) {
  await page.click('#tab-bench');
  await page.select('#elements', '1048576');
  await page.select('#bench-device', devices.at(-1));
  await page.click('#bench-start');
  await until(page, '#bench-status', `${devices.length === 2 ? 12 : 4} casts were measured.`);
  const groups = await page.$$eval('#rates tbody', (bodies) => bodies.map((body) => [...body.rows].map((row) => (
    [...row.cells].map((cell) => cell.textContent)))));
  const places = ['CPU', 'GPU, between its buffers', 'to the GPU and back'].slice(0, devices.length === 2 ? 3 : 1);
  equal(groups.map(([[title]]) => title), places, 'the places');
  for (const [, ...rows] of groups) {
    equal(rows.map(([pair]) => pair), ['float → float16', 'float → float8e4m3fn', 'float16 → float', 'int64 → int32'], 'the casts');
    for (const cells of rows) assert(/^\d+\.\d+$/.test(cells[1]) && /^\d+\.\d\d ×$/.test(cells[3]), cells.join(' | '));
  }
  const bars = await page.$$eval('#rates .bar', (all) => all.map((bar) => parseFloat(bar.style.width)));
  assert(bars.length === 8 * places.length && bars.every((width) => width > 0 && width <= 100), bars.join(' '));
}

export async function visitor({ browser, devices }) {
  const page = await browser.page();
  await first(page);
  await sampled(page);
  await fragments(page);
  await summary(page);
  await measured(page, devices);
  equal(page.errors, [], 'errors of the page');
  await page.close();
  return 'the first view, a sample, fragments, a whole summary, and measurements by place';
}
