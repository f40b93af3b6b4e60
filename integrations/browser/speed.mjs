// Measures `cast` of the npm package on the CPU beside JavaScript's own conversions of typed arrays, and a copy. They run in turns, all
// of them five times before anything is timed. A figure is the median of 15 runs, in GB/s read and written, and a ratio the median of the
// runs' ratios. `cast` also counts losses.
//
//     node speed.mjs [ELEMENTS] [FOLDER OF THE PACKAGE]
//
// Needs Node 24 or later, which has Float16Array: `npx --yes node@24 speed.mjs` gets one. Run build.sh before.
import { cpus } from 'node:os';
import { resolve } from 'node:path';

const RUNS = 15;
const [elements, folder] = [Number(process.argv[2] ?? 1 << 20), process.argv[3] ?? 'target/npm'];
if (typeof Float16Array === 'undefined') throw new Error(`this Node (${process.version}) has no Float16Array`);
const { cast } = await import(resolve(folder, 'node.js'));

const float = new Float32Array(elements).map((_, i) => Math.sin(i * 0.37) * 30);
const [double, int32, int8] = [new Float64Array(float), new Int32Array(float), new Int8Array(float)];
const float16 = new Float16Array(float);
const codes = (array) => new Uint16Array(array.buffer);

/** Types, the array that is cast, and JavaScript's conversion where there is one. */
const rows = [
  ['float', 'float16', float, () => new Float16Array(float)],
  ['float16', 'float', codes(float16), () => new Float32Array(float16)],
  ['float', 'bfloat16', float],
  ['float', 'float8e4m3fn', float],
  ['float8e4m3fn', 'float', (await cast(float, 'float', 'float8e4m3fn')).data],
  ['float', 'int8', float, () => new Int8Array(float)],
  ['int8', 'float', int8, () => new Float32Array(int8)],
  ['float', 'int32', float, () => new Int32Array(float)],
  ['int32', 'float', int32, () => new Float32Array(int32)],
  ['double', 'float', double, () => new Float32Array(double)],
  ['float', 'double', float, () => new Float64Array(float)],
];

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
const text = (number) => (Number.isFinite(number) ? number.toFixed(2) : '–');

/** GB/s of `bytes` that `work` reads and writes. */
async function rate(work, bytes) {
  const start = performance.now();
  const result = await work();
  return bytes(result) / (performance.now() - start) / 1e6;
}

/** The rates of `cast`, of JavaScript and of a copy. */
async function run([from, to, source, convert]) {
  let both = 0;
  const own = await rate(() => cast(source, from, to), ({ data }) => (both = source.byteLength + data.byteLength));
  const script = convert ? await rate(convert, () => both) : NaN;
  const copy = await rate(() => source.slice(), () => 2 * source.byteLength);
  return [own, script, copy];
}

for (let round = 0; round < 5; round += 1) for (const row of rows) await run(row);
console.log(`${cpus()[0].model}, Node ${process.version}, ${elements} elements\n`);
console.log('| cast | GB/s | JavaScript, GB/s | ratio to JavaScript | ratio to a copy |\n| --- | --- | --- | --- | --- |');
for (const row of rows) {
  const rates = [];
  for (let round = 0; round < RUNS; round += 1) rates.push(await run(row));
  const of = (number) => text(median(rates.map(number)));
  const figures = [of(([own]) => own), of(([, script]) => script), of(([own, script]) => own / script), of(([own, , copy]) => own / copy)];
  console.log(`| ${row[0]} → ${row[1]} | ${figures.join(' | ')} |`);
}
