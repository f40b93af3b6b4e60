// Measures `cast` of the npm package on the CPU beside JavaScript's own conversions of typed arrays, and a copy. They run in turns; a
// figure is the median of 15 runs, in GB/s read and written, and a ratio that of these medians. `cast` also counts losses.
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

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const text = (number) => (Number.isFinite(number) ? number.toFixed(2) : '–');

console.log(`${cpus()[0].model}, Node ${process.version}, ${elements} elements\n`);
console.log('| cast | GB/s | JavaScript, GB/s | ratio to JavaScript | ratio to a copy |\n| --- | --- | --- | --- | --- |');
for (const [from, to, source, convert] of rows) {
  const times = [[], [], []];
  let bytes = 0;
  const timed = async (kept, work) => {
    const start = performance.now();
    const result = await work();
    kept.push(performance.now() - start);
    return result;
  };
  for (let run = 0; run < RUNS; run += 1) {
    const { data } = await timed(times[0], () => cast(source, from, to));
    if (convert) await timed(times[1], convert);
    await timed(times[2], () => source.slice());
    bytes = source.byteLength + data.byteLength;
  }
  const [own, script, copy] = times.map(median);
  // A copy reads and writes the source's bytes; the rates are compared.
  const rates = [bytes / own, bytes / script, (2 * source.byteLength) / copy].map((rate) => rate / 1e6);
  console.log(`| ${from} → ${to} | ${text(rates[0])} | ${text(rates[1])} | ${text(rates[0] / rates[1])} | ${text(rates[0] / rates[2])} |`);
}
