// The page as people see it: every view, by keyboard, at the width of a phone, in light and dark, for axe-core.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { assert, equal } from './harness.mjs';
import { withFiles } from './jobs.mjs';
import { checkpoint } from './names.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const VIEWS = ['cast', 'verify', 'bench', 'kernels'];

/** The tabs by arrow keys, and forms by Tab and Enter. */
async function keyboard(browser) {
  const page = await browser.page();
  await page.focus('#tab-cast');
  for (const view of ['verify', 'bench', 'kernels', 'cast']) {
    await page.keyboard.press('ArrowRight');
    assert(await page.$eval(`#${view}`, (panel) => !panel.hidden), `ArrowRight shows ${view}`);
    equal(await page.evaluate(() => document.activeElement.id), `tab-${view}`, 'the focus');
  }
  await page.keyboard.press('End');
  await page.keyboard.press('Tab');
  equal(await page.evaluate(() => document.activeElement.id), 'kernel-from', 'Tab goes into the view');
  await page.select('#kernel-from', 'float4e2m1');
  await page.select('#kernel-to', 'double');
  await page.waitForFunction(() => document.getElementById('wgsl').textContent.includes('fn main('));
  assert(await page.$$eval('#wgsl .keyword', (spans) => spans.length > 10), 'the text is highlighted');
  equal(page.errors, [], 'errors of the page');
  await page.close();
}

/** Fills the views, so that there is something to look at. */
async function fill(page) {
  await page.click('#tab-verify');
  await page.select('#verify-device', 'gpu');
  await page.click('#verify-start');
  await page.waitForFunction(() => document.getElementById('verify-reached').textContent.startsWith('2'));
  await page.click('#verify-stop');
  await page.waitForSelector('#verify-report:not([hidden])');
  const report = await page.$eval('#report', (text) => text.textContent);
  assert(/\| pairs \| \d+ of 625 \|/.test(report) && report.includes('| stopped |'), report);
  await page.browserContext().overridePermissions(new URL(page.url()).origin, ['clipboard-sanitized-write']);
  await page.bringToFront();
  await page.click('#copy');
  await page.waitForFunction(() => document.getElementById('copied').textContent === 'The report was copied.');
  await page.click('#tab-bench');
  await page.select('#elements', '1048576');
  await page.select('#bench-device', 'gpu');
  await page.click('#bench-start');
  await page.waitForFunction(() => document.getElementById('bench-status').textContent === '12 casts were measured.');
}

export async function views({ browser, folder }) {
  await keyboard(browser);
  mkdirSync(folder, { recursive: true });
  const page = await browser.page();
  await fill(page);
  await page.click('#tab-cast');
  await withFiles(async (put) => {
    await (await page.$('#file')).uploadFile(put('model.safetensors', checkpoint()));
    await page.click('#start');
    await page.waitForSelector('#losses table');
  });
  await page.evaluate(AXE);
  let checks = 0;
  for (const scheme of ['light', 'dark']) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    for (const width of [1280, 390, 320]) {
      await page.setViewport({ width, height: 800 });
      for (const view of VIEWS) {
        await page.click(`#tab-${view}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert(wide <= 0, `${view} is ${wide} pixels wider than a screen of ${width}`);
        const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
        const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
        equal(told, [], `axe-core, ${view}, ${scheme}, ${width}`);
        checks += passes.length;
        await page.screenshot({ path: join(folder, `${view}-${scheme}-${width}.png`), fullPage: true });
      }
    }
  }
  equal(page.errors, [], 'errors of the page');
  await page.close();
  return `4 views, by keyboard, 3 widths, light and dark: no violation in ${checks} checks of axe-core`;
}
