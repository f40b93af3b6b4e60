// Times of casts beside the transfers alone and beside a single dispatch written by hand, in the same run. No assertion is
// made of times.

export async function times({ browser, elements = 16 << 20, runs = 5 }) {
  const page = await browser.page();
  const found = await page.evaluate(async (count, turns) => {
    const worker = new Worker('./times.js', { type: 'module' });
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ elements: count, runs: turns });
    });
  }, elements, runs);
  await page.close();
  if (found.error) throw new Error(found.error);
  const of = (name) => found[name].sort((a, b) => a - b);
  const told = (name) => {
    const sorted = of(name);
    return `${name} ${sorted[sorted.length >> 1].toFixed(0)} (${sorted[0].toFixed(0)} to ${sorted.at(-1).toFixed(0)})`;
  };
  const median = (name) => of(name)[found[name].length >> 1];
  const ratios = `CPU ${(median('cpu') / median('transfers')).toFixed(2)} times the transfers, `
    + `GPU ${(median('gpu') / median('single')).toFixed(2)} times a single dispatch`;
  return `${elements} float → float16, ms, median of ${runs}: ${Object.keys(found).map(told).join(', ')}; ${ratios}`;
}
