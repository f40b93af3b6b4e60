// Casts that ml_dtypes and numpy have made: the tables of tests/golden, without the CPU path between.

import { readFileSync } from 'node:fs';

import { assert, cast } from './harness.mjs';

/** The sections of a table: a type and its rows of two numbers; NaN on the right is null. */
function sections(name) {
  const found = [];
  for (const line of readFileSync(new URL(`../../../tests/golden/${name}.txt`, import.meta.url), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('[')) {
      found.push({ type: line.slice(1, -1), rows: [] });
      continue;
    }
    const [left, right] = line.split(' ');
    found.at(-1).rows.push([parseInt(left, 16), right === 'nan' ? null : parseInt(right, 16)]);
  }
  return found;
}

/** Codes of any width as packed bytes, low bits first. */
export function pack(codes, bits) {
  const bytes = new Uint8Array(Math.ceil(codes.length * bits / 8));
  for (const [index, code] of codes.entries()) {
    for (let bit = 0; bit < bits; bit += 1) {
      const at = index * bits + bit;
      if ((code / 2 ** bit) & 1) bytes[at >> 3] |= 1 << (at & 7);
    }
  }
  return bytes;
}

export function unpack(bytes, bits, count) {
  return Array.from({ length: count }, (_, index) => {
    let code = 0;
    for (let bit = 0; bit < bits; bit += 1) {
      const at = index * bits + bit;
      code += ((bytes[at >> 3] >> (at & 7)) & 1) * 2 ** bit;
    }
    return code;
  });
}

const isNan = (word) => (word & 0x7fffffff) > 0x7f800000;

export async function golden({ browser, device, types, variant }) {
  const page = await browser.page({ variant });
  const bits = Object.fromEntries(types.map((type) => [type.name, type.bits]));
  let count = 0;
  const check = async (from, to, rows, nan) => {
    const settings = { device, options: { saturate: false } };
    const source = pack(rows.map(([left]) => left), bits[from]);
    const answer = await cast(page, from, source, rows.length, to, settings);
    assert(!answer.error, `${from} to ${to}: ${JSON.stringify(answer.error)}`);
    for (const [index, code] of unpack(answer.bytes, bits[to], rows.length).entries()) {
      const [given, expected] = rows[index];
      const right = expected === null ? nan(code) : code === expected;
      assert(right, `${from} ${given.toString(16)} to ${to}: ${code.toString(16)}, expected ${expected?.toString(16)}`);
      count += 1;
    }
  };
  const decode = sections('decode');
  for (const { type, rows } of decode) await check(type, 'float', rows, isNan);
  for (const { type, rows } of sections('encode')) {
    // The codes that are NaN, by the table of the other direction; for 16 bits, by their exponents.
    const nans = new Set(decode.find((table) => table.type === type)?.rows
      .filter(([, word]) => word === null || isNan(word)).map(([code]) => code));
    const limit = { float16: 0x7c00, bfloat16: 0x7f80 }[type];
    await check('float', type, rows, (code) => nans.has(code) || (code & 0x7fff) > limit);
  }
  await page.close();
  return `${count} codes of ${decode.length} decoded and 9 encoded types`;
}
