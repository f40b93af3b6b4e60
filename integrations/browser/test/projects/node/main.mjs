// A program that casts in Node.

import assert from 'node:assert/strict';
import {
  LimitError, cast, createCaster, elementTypes, functions, packedBytes, plan, selfTest, version,
} from 'wgpu-cast-web';

// A file that is not for programs.
import { addressable } from './node_modules/wgpu-cast-web/arrays.js';

// An array is read before the call returns, also before the module is loaded: it may be used again, and given away. Options, too.
async function readAtOnce(name) {
  const [array, options] = [new Float32Array(1), {}];
  const results = [1, 2, 3].map((value) => {
    array[0] = value;
    options.saturate = value > 1;
    return cast(array, 'float', 'int8', options);
  });
  structuredClone(array.buffer, { transfer: [array.buffer] });
  assert.deepEqual((await Promise.all(results)).map(({ data: [value] }) => value), [1, 2, 3], name);
}
await readAtOnce('a module that is not loaded');
await readAtOnce('a module that is loaded');
const shape = [10];
const plans = [10, 20].map((elements) => {
  shape[0] = elements;
  return plan('float', 'int8', { shape });
});
const given = {};
const written = ['f16', 'f32'].map((values) => {
  given.values = values;
  return functions('q', given);
});
const [ten, twenty] = (await Promise.all(plans)).map(({ dispatches: [{ bindings }] }) => bindings[0].size);
assert.deepEqual([ten, twenty], [40, 80]);
assert.deepEqual((await Promise.all(written)).map((each) => each.decode('float16').result), ['f16', 'f32']);

const { data, losses } = await cast(new Float32Array([1, 448, 465, NaN]), 'float', 'float8e4m3fn');
assert.deepEqual(data, Uint8Array.of(0x38, 0x7e, 0x7e, 0x7f));
assert.equal(losses.saturated, 1);
const wide = await cast(data, 'fp8_e4m3', 'float32');
assert.deepEqual(wide.data, Float32Array.of(1, 448, 448, NaN));
const ids = await cast(BigInt64Array.of(-1n, 7n), 'int64', 'int32');
assert.deepEqual(ids.data, Int32Array.of(-1, 7));
const unsaturated = await cast(Float32Array.of(1000), 'float', 'float8e4m3fn', { saturate: false });
assert.deepEqual(unsaturated.data, Uint8Array.of(0x7f));
// Options count wherever an object has them from, and are read once.
let reads = 0;
class Accessor {
  get saturate() {
    reads += 1;
    return false;
  }
}
const hidden = Object.defineProperty({}, 'saturate', { value: false });
for (const options of [Object.create({ saturate: false }), hidden, new Accessor()]) {
  assert.deepEqual((await cast(Float32Array.of(1e9), 'float', 'float8e4m3fn', options)).data, Uint8Array.of(0x7f));
}
assert.equal(reads, 1);
for (const [to, given] of [['float8e4m3fn', { saturate: false }], ['float8e8m0', { roundMode: 'down' }], ['int4', { int4Overflow: 'clamp' }], ['float4e2m1', { float4Nan: 'max' }]]) {
  const [own, inherited, none] = await Promise.all([given, Object.create(given), {}].map((options) => plan('float', to, 5, options)));
  assert.deepEqual(inherited, own, to);
  assert.notDeepEqual(inherited, none, to);
}
assert.equal(await packedBytes('int4', 3), 2);
assert.equal((await elementTypes()).length, 25);
await assert.rejects(cast(data, 'float9', 'float'), TypeError);
await assert.rejects(cast(Float32Array.of(1), 'float', 'float16', { elements: 2 }), { name: 'ByteLength' });
await assert.rejects(cast(Float32Array.of(1), 'float', 'float16', { device: 'gpu' }), { name: 'NoAdapter' });

// Lengths that WebAssembly's 32 bits do not hold are told as they are.
const needed = 'need 4 GiB or more; an array must have less than 4 GiB';
const lengths = [
  [['uint8', 'int8', 2 ** 32 - 1], 'ByteLength', '4294967295 elements of uint8 need 4294967295 bytes, got 1'],
  [['uint8', 'int8', 2 ** 32], 'ShapeOverflow', `4294967296 elements of uint8 ${needed}`],
  [['double', 'int8', 2 ** 29], 'ShapeOverflow', `536870912 elements of double ${needed}`],
  [['int4', 'int8', 2 ** 32 + 2], 'ByteLength', '4294967298 elements of int4 need 2147483649 bytes, got 1'],
  [['int4', 'int8', 2 ** 53 - 1], 'ShapeOverflow', `9007199254740991 elements of int4 ${needed}`],
];
for (const [[from, to, elements], name, message] of lengths) {
  await assert.rejects(cast(Uint8Array.of(1), from, to, { elements }), { name, message });
}
// The system gives memory that is never touched only as an address.
await assert.rejects(cast(new Uint8Array(2 ** 27), 'int2', 'double'), { name: 'ShapeOverflow', message: `536870912 elements of double ${needed}` });
// Not every Node has arrays as long.
addressable(2 ** 32 - 1);
for (const length of [2 ** 32, 2 ** 32 + 8]) {
  assert.throws(() => addressable(length), { name: 'ShapeOverflow', message: `source has ${length} bytes; an array must have less than 4 GiB` });
}

// A wrong argument is told before anything is cast.
function detached() {
  const array = Float32Array.of(1);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}
function outside() {
  const buffer = new ArrayBuffer(16, { maxByteLength: 32 });
  const array = new Float32Array(buffer, 8, 2);
  buffer.resize(8);
  return array;
}
const source = Float32Array.of(1);
const wrong = [
  [[[1, 2, 3], 'float', 'float16'], 'source must be a typed array, got an array'],
  [[source.buffer, 'float', 'float16'], 'source must be a typed array, got ArrayBuffer'],
  [[{ size: 4, usage: 8 }, 'float', 'float16'], 'source must be a typed array, got Object'],
  [[undefined, 'float', 'float16'], 'source must be a typed array, got undefined'],
  [[source, 'int32', 'float16'], 'source must be Int32Array or Uint8Array or Uint8ClampedArray for int32, got Float32Array'],
  [[Uint16Array.of(1), 'float', 'int8'], 'source must be Float32Array or Uint8Array or Uint8ClampedArray for float, got Uint16Array'],
  // Numbers are not taken for codes of as many bits.
  [[Int32Array.of(1), 'float', 'double'], 'source must be Float32Array or Uint8Array or Uint8ClampedArray for float, got Int32Array'],
  [[BigInt64Array.of(1n), 'double', 'float'], 'source must be Float64Array or Uint8Array or Uint8ClampedArray for double, got BigInt64Array'],
  [[Int16Array.of(1), 'float16', 'float'], 'source must be Uint16Array or Float16Array or Uint8Array or Uint8ClampedArray for float16, got Int16Array'],
  [[Uint32Array.of(1), 'int32', 'float'], 'source must be Int32Array or Uint8Array or Uint8ClampedArray for int32, got Uint32Array'],
  [[Int8Array.of(-1), 'uint8', 'float'], 'source must be Uint8Array or Uint8ClampedArray for uint8, got Int8Array'],
  [[Int8Array.of(-1), 'float8e4m3fn', 'float'], 'source must be Uint8Array or Uint8ClampedArray for float8e4m3fn, got Int8Array'],
  [[detached(), 'float', 'int8'], 'source must lie in its buffer, got Float32Array of a buffer that is detached or too short'],
  [[outside(), 'float', 'int8'], 'source must lie in its buffer, got Float32Array of a buffer that is detached or too short'],
  [[source, 1, 'float16'], 'an element type is named by a string, got 1'],
  [[source, 'float', 'float9'], 'unknown element type "float9"'],
  [[source, 'float', 'float16', null], 'options must be an object, got null'],
  [[source, 'float', 'float16', { device: 'GPU' }], 'device must be \'cpu\' or \'gpu\', got "GPU"'],
  [[source, 'float', 'float16', { device: {} }], "device must be 'cpu' or 'gpu', got Object"],
  [[source, 'float', 'float16', { elements: -1 }], 'elements must be a number of elements, got -1'],
  [[source, 'float', 'float16', { elements: 0.5 }], 'elements must be a number of elements, got 0.5'],
  [[source, 'float', 'float16', { saturate: 0 }], 'saturate must be a boolean, got 0'],
  [[source, 'float', 'float8e8m0', { roundMode: 'even' }], 'roundMode must be \'up\' or \'down\' or \'nearest\', got "even"'],
  [
    [source, 'float', 'float16', { saturated: false }],
    'unknown option "saturated"; there are device, elements, saturate, roundMode, int4Overflow, float4Nan',
  ],
];
for (const [given, message] of wrong) await assert.rejects(cast(...given), { name: 'TypeError', message });
// What is listed is taken, also bytes without values of their own.
for (const [array, from, value] of [
  [Uint16Array.of(0x3c00), 'float16', 1], [Uint16Array.of(0x3f80), 'bfloat16', 1], [Uint8Array.of(0, 0, 128, 63), 'float', 1],
  [Uint8ClampedArray.of(255), 'uint8', 255], [Buffer.of(255), 'int8', -1], [Int8Array.of(-1), 'int8', -1], [Int16Array.of(-1), 'int16', -1],
]) assert.deepEqual((await cast(array, from, 'double')).data, Float64Array.of(value), from);
const settings = [
  [{ evry: 11 }, 'unknown option "evry"; there are device, thorough, every, progress, signal'],
  [null, 'options must be an object, got null'],
  [{ device: 'GPU' }, 'device must be \'cpu\' or \'gpu\' or a GPUDevice, got "GPU"'],
  [{ thorough: 1 }, 'thorough must be a boolean, got 1'],
  [{ every: 0 }, 'every must be a number of at least 1, got 0'],
  [{ progress: true }, 'progress must be a function, got true'],
  [{ signal: {} }, 'signal must be an AbortSignal, got Object'],
];
for (const [given, message] of settings) await assert.rejects(selfTest(given), { name: 'TypeError', message });
await assert.rejects(packedBytes('int4', -1), { name: 'TypeError', message: 'elements must be a number of elements, got -1' });
// Also where a program has a GPU of its own.
Object.defineProperty(globalThis.navigator ?? (globalThis.navigator = {}), 'gpu', { value: {}, configurable: true });
await assert.rejects(cast(source, 'float', 'float16', { device: 'gpu' }), { name: 'NoAdapter', message: 'in Node, casts run on the CPU' });
// It is told before the array is copied.
const { slice } = Uint8Array.prototype;
Uint8Array.prototype.slice = () => assert.fail('a copy');
const refusal = cast(source, 'float', 'float16', { device: 'gpu' });
Uint8Array.prototype.slice = slice;
await assert.rejects(refusal, { name: 'NoAdapter' });

// Plans and functions need no device.
const { kernels, dispatches } = await plan('float', 'float8e4m3fn', 10_003);
assert.deepEqual([kernels.length, dispatches.length, dispatches[0].parameters.length], [2, 2, 48]);
assert.ok(kernels.every((text) => text.includes('fn main(')));
await assert.rejects(plan('float', 'int8', 2 ** 40), LimitError);
assert.equal((await functions('q')).decodeWord('float4e2m1').name, 'q_float4e2m1_to_f32x8');
await assert.rejects(createCaster(undefined), { name: 'TypeError', message: 'device must be a GPUDevice, got undefined' });
const { pairs, equal, casts } = await selfTest({ every: 11 });
assert.ok(equal);
console.log(`wgpu-cast-web ${await version()} in Node ${process.version}: ${pairs} pairs, ${casts} casts, 0 differ`);
