// Many casts: at once, and one after the other in bounded memory.

import { readFileSync, readdirSync } from 'node:fs';

import { assert, call, cast, floats, same } from './harness.mjs';

/** The memory of the browser's processes in MiB, without what they share. */
export function memoryOf(pid) {
  const parents = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [, parent] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ');
      parents.set(Number(name), Number(parent));
    } catch {
      // The process has ended.
    }
  }
  const isOurs = (process) => process === pid || (parents.has(process) && isOurs(parents.get(process)));
  let pages = 0;
  for (const process of [...parents.keys()].filter(isOurs)) {
    try {
      const [, resident, shared] = readFileSync(`/proc/${process}/statm`, 'utf8').split(' ').map(Number);
      pages += resident - shared;
    } catch {
      // The process has ended.
    }
  }
  return pages * 4096 / 2 ** 20;
}

/** Watches the memory until the last returned function is called, which tells how much more there was at most. */
export function watch(browser) {
  const pid = browser.browser.process().pid;
  return () => {
    const before = memoryOf(pid);
    let most = before;
    const timer = setInterval(() => { most = Math.max(most, memoryOf(pid)); }, 50);
    return () => {
      clearInterval(timer);
      return Math.round(most - before);
    };
  };
}

export async function together({ browser, devices }) {
  const page = await browser.page();
  const targets = ['float16', 'bfloat16', 'float8e4m3fn', 'int4', 'double', 'int64', 'uint8', 'float6e2m3'];
  const elements = 100_003;
  const source = floats(elements);
  const expected = [];
  for (const to of targets) expected.push((await cast(page, 'float', source, elements, to)).bytes);
  for (const device of devices) {
    const casts = [...targets, ...targets].map((to) => cast(page, 'float', source, elements, to, { device }));
    for (const [index, { bytes, error }] of (await Promise.all(casts)).entries()) {
      assert(!error, JSON.stringify(error));
      same(bytes, expected[index % targets.length], `16 casts at once, ${targets[index % targets.length]}`);
    }
  }
  await page.close();
  return `16 casts at once on ${devices.join(' and ')}`;
}

/**
 * Casts in the worker, so that nothing but the casts takes memory. How much a browser keeps before it collects garbage differs, so the
 * most that it has during many casts is compared with the most during fewer casts before.
 */
export async function many({ browser, device, count = 200, elements = 4 << 20 }) {
  const page = await browser.page();
  const run = (times) => page.evaluate(async (parameters, casts) => {
    const { client } = await import('./client.js');
    const bytes = new Uint8Array(4 * parameters.elements);
    for (let i = 0; i < casts; i += 1) await client.call('cast', { ...parameters, bytes });
  }, { device, elements, from: 'float', to: 'float16' }, times);
  await run(5);
  const watching = watch(browser);
  const [fewer, whole] = [watching(), watching()];
  await run(count / 2);
  const before = fewer();
  await run(count);
  const after = whole();
  assert(before < 400 && after < before + 100, `${after} MiB more after ${count} casts, ${before} MiB more before them`);
  assert(!(await call(page, 'kernel', { from: 'float', to: 'float16', variant: 'edge' })).error, 'the worker goes on');
  await page.close();
  return `${count} casts of ${elements} elements on the ${device}: at most ${after} MiB more than after 5 casts, ${before} in ${count / 2} before them`;
}
