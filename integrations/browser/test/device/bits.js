// The bits of casts between buffers, in all places where tensors may lie. integrations/dawn compares every pair.

import { after, assert, equal, filled, noise, onCpu, same, thrown, watched } from './tools.js';

/** Elements of a type at a bit of bytes, as numbers: types of at most 32 bits. */
function read(bytes, bits, first, count) {
  return Array.from({ length: count }, (_, index) => {
    let code = 0;
    for (let bit = 0; bit < bits; bit += 1) {
      const at = (first + index) * bits + bit;
      code += ((bytes[at >> 3] >> (at & 7)) & 1) * 2 ** bit;
    }
    return code;
  });
}

function write(bytes, bits, first, codes) {
  codes.forEach((code, index) => {
    for (let bit = 0; bit < bits; bit += 1) {
      const at = (first + index) * bits + bit;
      bytes[at >> 3] = (bytes[at >> 3] & ~(1 << (at & 7))) | ((Math.floor(code / 2 ** bit) & 1) << (at & 7));
    }
  });
}

function packed(bits, codes) {
  const bytes = new Uint8Array(Math.ceil((bits * codes.length) / 8));
  write(bytes, bits, 0, codes);
  return bytes;
}

const BITS = { float: 32, float16: 16, bfloat16: 16, float8e4m3fn: 8, int8: 8, float4e2m1: 4, float6e2m3: 6, int2: 2 };

/** Source and destination in elements from the start of their buffers, and options. */
const PLACES = [
  ['aligned', { source: 0, destination: 0 }],
  ['odd', { source: 3, destination: 5, parts: true }],
  ['one buffer', { source: 1, destination: 5_001, parts: true, together: true }],
];

const PAIRS = [
  ['float', 'float16'], ['float', 'float8e4m3fn'], ['float8e4m3fn', 'float16'], ['float4e2m1', 'bfloat16'], ['bfloat16', 'float6e2m3'],
  ['int8', 'int2'],
];

/** Casts through a device that refuses queues, scopes and maps; the tests submit. */
export async function placed({ web, device }) {
  const { device: quiet, calls } = watched(device);
  // The main kernels, also on software adapters.
  const caster = await web.createCaster(quiet, { tuning: { blocksFrom: 0 } });
  const elements = 3_003;
  let casts = 0;
  for (const [from, to] of PAIRS) {
    const [source_bits, bits] = [BITS[from], BITS[to]];
    for (const [name, { source, destination, parts, together }] of PLACES) {
      const first = (index) => (parts ? { first: index } : {});
      const before = [noise(Math.ceil(((source + elements) * source_bits) / 32) * 4, 3), noise(Math.ceil(((destination + elements) * bits) / 32) * 4, 5)];
      // In one buffer, both tensors are parts of it.
      if (together) before[1] = before[0] = noise(Math.max(...before.map((bytes) => bytes.length)) + 5_004 * 4 + 64, 7);
      const start = together ? Math.ceil(((source + elements) * source_bits) / 128) * 16 : 0;
      const buffers = together ? [filled(device, before[0])] : before.map((bytes) => filled(device, bytes));
      const [input, output] = [buffers[0], buffers.at(-1)];
      const codes = read(before[0], source_bits, source, elements);
      const expected = before[1].slice();
      const result = await onCpu(web, packed(source_bits, codes), from, to, { elements });
      const at = together ? 1 : destination;
      write(expected.subarray(start), bits, parts ? at : 0, read(result, bits, 0, elements));
      if (!parts && bits < 8) expected[result.length - 1] = result.at(-1);
      const cast = caster.prepare(from, to, elements);
      const bound = cast.bind({ buffer: input, ...first(source) }, { buffer: output, offset: start, ...first(at) });
      const found = await after(device, output, (encoder) => {
        const pass = encoder.beginComputePass();
        bound.recordInPass(pass);
        pass.end();
      });
      same(found, expected, `${from} → ${to}, ${name}`);
      casts += 1;
    }
  }
  return `${casts} casts through a device without queue, scopes and maps: ${JSON.stringify(calls)}`;
}

/** A transposed matrix, and rows at a pitch, whose rest stays. */
export async function views({ web, device }) {
  const caster = await web.createCaster(watched(device).device);
  const [rows, columns, pitch] = [60, 100, 128];
  const values = Float32Array.from({ length: rows * columns }, (_, index) => Math.sin(index) * 300);
  const before = noise(rows * pitch, 9);
  const [source, destination] = [filled(device, new Uint8Array(values.buffer)), filled(device, before)];
  const view = { shape: [rows, columns], sourceStrides: [1, rows], destinationStrides: [pitch, 1] };
  const cast = await caster.prepareAsync('float', 'float8e4m3fn', view);
  equal([cast.elements, cast.sourceBytes, cast.destinationBytes], [6000, 24_000, 59 * 128 + 100], 'sizes of a view');
  const found = await after(device, destination, (encoder) => cast.bind(source, destination).record(encoder));
  const codes = await onCpu(web, values, 'float', 'float8e4m3fn');
  const expected = before.slice();
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) expected[row * pitch + column] = codes[column * rows + row];
  }
  equal(Array.from(found), Array.from(expected), 'a transposed view');
  return 'transposed to rows at a pitch';
}

/** Places of one prepared cast, in the order in which it is bound. Each has buffers of its own, but for `sourceOf`. */
const BINDS = {
  first: {},
  'other buffers': {},
  'other offsets': { source: { offset: 256 }, destination: { offset: 512 } },
  'the first source again': { sourceOf: 'first' },
  'in place': { together: true },
  parts: { source: { offset: 16, first: 3 }, destination: { first: 5 } },
  'whole again': { source: { offset: 16 } },
};

/** One prepared cast bound again and again, and planned anew in between. All binds are recorded after the last one. */
export async function again({ web, device }) {
  const caster = await web.createCaster(watched(device).device, { tuning: { blocksFrom: 0 } });
  const elements = 3_003;
  const cast = await caster.prepareAsync('float', 'int32', elements);
  const binds = {};
  for (const [name, { source = {}, destination = {}, sourceOf, together }] of Object.entries(BINDS)) {
    const seed = 2 * Object.keys(binds).length + 1;
    const tensor = (each) => ({ bytes: noise(4 * elements + 1024, each), buffer: filled(device, noise(4 * elements + 1024, each)) });
    const input = sourceOf ? binds[sourceOf].input : tensor(seed);
    const output = together ? input : tensor(seed + 1);
    const start = ({ offset = 0, first = 0 }) => offset + 4 * first;
    const expected = output.bytes.slice();
    const read = input.bytes.subarray(start(source), start(source) + 4 * elements);
    expected.set(await onCpu(web, read, 'float', 'int32'), start(destination));
    const bound = cast.bind({ buffer: input.buffer, ...source }, { buffer: output.buffer, ...destination });
    binds[name] = { input, output, expected, bound };
  }
  let record = (encoder) => Object.values(binds).forEach(({ bound }) => bound.record(encoder));
  for (const [name, { output, expected }] of Object.entries(binds)) {
    same(await after(device, output.buffer, record), expected, name);
    record = () => {};
  }
  return `${Object.keys(binds).length} binds of one prepared cast`;
}

/** Kernels are compiled once; binds at multiples of 16 bytes need no others, and equal parameters are one block. */
export async function once({ web, device }) {
  const { device: quiet, calls } = watched(device);
  const caster = await web.createCaster(quiet);
  const cast = await caster.prepareAsync('float', 'bfloat16', 20_003);
  const compiled = calls.createShaderModule;
  await Promise.all([1, 2, 3].map(() => caster.prepareAsync('float', 'bfloat16', 20_003)));
  caster.prepare('float', 'bfloat16', 20_003);
  const values = noise(100_000, 11);
  const [source, destination] = [filled(device, values), filled(device, new Uint8Array(100_000))];
  const bounds = [0, 16, 256, 4096].map((offset) => cast.bind({ buffer: source, offset }, { buffer: destination, offset }));
  equal(calls.createShaderModule, compiled, 'kernels compiled after the first');
  const made = calls.createBuffer;
  cast.bind(source, destination);
  equal(calls.createBuffer, made, 'buffers for parameters that are there');
  // A plan that a bind has made serves others at the same places only where its checks hold too.
  const part = caster.prepare('float', 'bfloat16', 100);
  const small = filled(device, new Uint8Array(396));
  part.bind({ buffer: source, first: 0 }, destination);
  part.bind({ buffer: filled(device, new Uint8Array(400)), first: 0 }, destination);
  for (const buffer of [{ buffer: small, first: 0 }, small, { buffer: source, size: 404 }, filled(device, new Uint8Array(4096), 0x8)]) {
    const { name, side } = await thrown(() => part.bind(buffer, destination));
    equal([name, side], ['Slice', 'source'], 'what a second bind refuses');
  }
  for (const slice of [{ first: 0, size: '404' }, { first: 0, size: 1e300 }, { first: '0' }, { offset: '0', first: 0 }, { first: 0, last: 9 }]) {
    const { name } = await thrown(() => part.bind({ buffer: source, ...slice }, destination));
    equal(name, 'TypeError', `a second bind with ${JSON.stringify(slice)}`);
  }
  const { message } = await thrown(() => caster.prepare('float', 'bfloat16', 100).bind({ buffer: source, first: -1 }, destination));
  equal(message, 'source.first must be a number of elements, got -1', 'a number for no part');
  equal(bounds[0].dispatches.map(({ workgroups }) => workgroups.length), [3, 3], 'dispatches of a cast');
  // After the first recording the buffer of parameters is sealed, and others follow.
  const many = Array.from({ length: 100 }, (_, index) => caster.prepare('float', 'bfloat16', index + 1).bind(source, destination));
  assert(calls.createBuffer < made + 10, `${calls.createBuffer - made} buffers for 100 casts`);
  const found = await after(device, destination, (encoder) => many.forEach((bound) => bound.record(encoder)));
  const expected = new Uint8Array(100_000);
  expected.set(await onCpu(web, values.subarray(0, 400), 'float', 'bfloat16'));
  same(found, expected, 'the casts of up to 100 elements');
  equal(caster.prepare('float', 'int8', 0).bind(source, source).dispatches, [], 'dispatches of no elements');
  return `${compiled} kernels for all binds`;
}

/** What the device says of a buffer goes to the caller's scope only. */
export async function scopes({ web, device }) {
  const caster = await web.createCaster(device);
  const [source, destination] = [filled(device, new Uint8Array(64)), filled(device, new Uint8Array(64))];
  const cast = await caster.prepareAsync('float', 'float16', 16);
  destination.destroy();
  const uncaptured = [];
  const listen = (event) => { uncaptured.push(event.error.message); };
  device.addEventListener?.('uncapturederror', listen);
  device.pushErrorScope('validation');
  const encoder = device.createCommandEncoder();
  cast.bind(source, destination).record(encoder);
  device.queue.submit([encoder.finish()]);
  const error = await device.popErrorScope();
  device.removeEventListener?.('uncapturederror', listen);
  assert(error?.message.includes('destroyed'), `a destroyed buffer: ${error?.message}`);
  equal(uncaptured, [], 'errors outside the scope');
  return 'a destroyed buffer in the caller\'s scope';
}
