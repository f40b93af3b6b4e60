// Casts by the npm package on Dawn, and compares the buffers with those of the CPU path, byte for byte.
// Arguments: the folder of the package, the folder with the casts, then options of Dawn, such as backend=vulkan.

import { readFileSync, readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { create } from 'webgpu';

import { after, filled, watched } from '../browser/test/device/tools.js';

const [web_folder, folder, ...options] = process.argv.slice(2);
const web = await import(pathToFileURL(`${web_folder}/node.js`));

/** The casters of a pair, by their settings. Each uses a device that refuses queues, scopes and maps. */
class Casters {
  #made = new Map();

  constructor(device) {
    this.device = device;
  }

  async get({ limits, onlyEdges, lookup }) {
    const key = JSON.stringify([limits, onlyEdges, lookup]);
    if (!this.#made.has(key)) {
      const tuning = { blocksFrom: onlyEdges ? Infinity : 0, lookup };
      this.#made.set(key, await web.createCaster(watched(this.device).device, { limits, tuning }));
    }
    return this.#made.get(key);
  }
}

/** Casts between buffers with these bytes, the source's and the destination's or one for both. Returns the bytes of the last one. */
async function run(device, casters, [from, to], cast, before) {
  device.pushErrorScope('validation');
  const buffers = before.map((bytes) => filled(device, bytes));
  const [source, destination] = [buffers[0], buffers.at(-1)].map((buffer, side) => ({ buffer, ...cast.places[side] }));
  const caster = await casters.get(cast);
  const bound = caster.prepare(from, to, cast.layout, cast.options).bind(source, destination);
  const found = await after(device, destination.buffer, (encoder) => bound.record(encoder));
  const error = await device.popErrorScope();
  if (error) throw error;
  buffers.forEach((each) => each.destroy());
  return Buffer.from(found);
}

// Dawn ends with this object, so it is kept.
const gpu = create(options);
const adapter = await gpu.requestAdapter();
if (!adapter) {
  console.error('NOT RUN: the casts on Dawn: Dawn accepts none of the adapters here (see README.md)');
  process.exit(3);
}
const device = await adapter.requestDevice();
let [pairs, casts, elements, wrong] = [0, 0, 0, 0];
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const pair = file.slice(0, -'.json'.length);
  const data = readFileSync(`${folder}/${pair}.bin`);
  const casters = new Casters(device);
  for (const cast of JSON.parse(readFileSync(`${folder}/${file}`))) {
    const expected = data.subarray(...cast.after);
    const found = await run(device, casters, pair.split('-'), cast, cast.before.map((range) => data.subarray(...range)));
    if (!found.equals(expected)) {
      const byte = found.findIndex((value, i) => value !== expected[i]);
      console.error(`${pair}, ${cast.variant}: byte ${byte} of ${found.length} differs`);
      wrong += 1;
    }
    casts += 1;
    elements += cast.elements;
  }
  pairs += 1;
}
const { vendor, architecture, description } = adapter.info;
const name = [vendor, architecture, description].filter(Boolean).join(', ');
console.log(
  `Dawn, ${name}: ${pairs} pairs, ${casts} casts of ${elements} elements, ${wrong} differ from the CPU path`,
);
// Dawn's threads would keep the process.
process.exit(wrong === 0 && pairs > 0 ? 0 : 1);
