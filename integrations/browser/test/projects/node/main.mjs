// A program that casts in Node.

import assert from 'node:assert/strict';
import {
  LimitError, cast, createCaster, elementTypes, functions, packedBytes, plan, selfTest, version,
} from 'wgpu-cast-web';

const { data, losses } = await cast(new Float32Array([1, 448, 465, NaN]), 'float', 'float8e4m3fn');
assert.deepEqual(data, Uint8Array.of(0x38, 0x7e, 0x7e, 0x7f));
assert.equal(losses.saturated, 1);
const wide = await cast(data, 'fp8_e4m3', 'float32');
assert.deepEqual(wide.data, Float32Array.of(1, 448, 448, NaN));
const ids = await cast(BigInt64Array.of(-1n, 7n), 'int64', 'int32');
assert.deepEqual(ids.data, Int32Array.of(-1, 7));
const unsaturated = await cast(Float32Array.of(1000), 'float', 'float8e4m3fn', { saturate: false });
assert.deepEqual(unsaturated.data, Uint8Array.of(0x7f));
assert.equal(await packedBytes('int4', 3), 2);
assert.equal((await elementTypes()).length, 25);
await assert.rejects(cast(data, 'float9', 'float'), TypeError);
await assert.rejects(cast(Float32Array.of(1), 'float', 'float16', { elements: 2 }), { name: 'ByteLength' });
await assert.rejects(cast(Float32Array.of(1), 'float', 'float16', { device: 'gpu' }), { name: 'NoAdapter' });

// A wrong argument is told before any work.
const source = Float32Array.of(1);
const wrong = [
  [[[1, 2, 3], 'float', 'float16'], 'source must be a typed array, got an array'],
  [[source.buffer, 'float', 'float16'], 'source must be a typed array, got ArrayBuffer'],
  [[{ size: 4, usage: 8 }, 'float', 'float16'], 'source must be a typed array, got Object'],
  [[undefined, 'float', 'float16'], 'source must be a typed array, got undefined'],
  [[source, 'int32', 'float16'], 'source must be packed codes of int32, got a Float32Array of float'],
  [[Uint16Array.of(1), 'float', 'int8'], 'source must be packed codes of float in elements of 1 or 4 bytes, got Uint16Array'],
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
