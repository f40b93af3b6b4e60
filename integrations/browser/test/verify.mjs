// The page's own verification, by its buttons.

import { assert } from './harness.mjs';

/** Verifies by the view, all pairs or each pair of a number. */
export async function verify({ browser, device, variant, thorough = false, every }) {
  const page = await browser.page({ variant, hash: '#verify' });
  if (every) {
    // A part of the pairs, which the view does not offer.
    const { result, error } = await page.evaluate(async (parameters) => {
      const { client } = await import('./client.js');
      try {
        return { result: await client.call('verify', parameters) };
      } catch ({ name, message }) {
        return { error: { name, message } };
      }
    }, { device, thorough, every });
    assert(!error, JSON.stringify(error));
    await page.close();
    assert(result.mismatches.length === 0 && result.done === result.pairs, JSON.stringify(result));
    return told(result.done, result.casts, result.elements, result.seconds, result.checksum);
  }
  await page.select('#verify-device', device);
  await page.select('#extent', thorough ? 'thorough' : 'quick');
  await page.click('#verify-start');
  await page.waitForSelector('#verify-report:not([hidden])');
  const report = await page.$eval('#report', (text) => text.textContent);
  await page.close();
  const rows = new Map([...report.matchAll(/^\| ([^|]*) \| (.*) \|$/gm)].map(([, name, value]) => [name, value]));
  assert(rows.get('result') === 'all results as expected' && rows.get('pairs') === '625 of 625', report);
  const [casts, elements, seconds] = ['casts', 'elements', 'seconds'].map((name) => Number(rows.get(name)));
  return told(625, casts, elements, seconds, rows.get('checksum of all results'));
}

/** One wrong bit of each result is found and told. */
export async function wrong({ browser }) {
  const page = await browser.page({ variant: 'wrong-bits', hash: '#verify' });
  await page.select('#verify-device', 'gpu');
  await page.click('#verify-start');
  await page.waitForFunction(() => document.getElementById('verify-reached').textContent.startsWith('2'));
  await page.click('#verify-stop');
  await page.waitForSelector('#verify-report:not([hidden])');
  const report = await page.$eval('#report', (text) => text.textContent);
  assert(report.includes('WRONG RESULTS') && /element \d+: 0x[0-9a-f]+ becomes/.test(report), report);
  await page.close();
  return report.split('\n').find((line) => line.includes('becomes'));
}

const told = (pairs, casts, elements, seconds, checksum) => (
  `${pairs} pairs, ${casts} casts of ${elements} elements, 0 differ, ${seconds.toFixed(1)} s, checksum ${checksum}`
);
