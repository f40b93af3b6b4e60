// A program that casts in Node.

import assert from 'node:assert/strict';
import { cast, elementTypes, packedBytes, selfTest, version } from 'wgpu-cast-web';

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
const { pairs, equal, casts } = await selfTest({ every: 11 });
assert.ok(equal);
console.log(`wgpu-cast-web ${await version()} in Node ${process.version}: ${pairs} pairs, ${casts} casts, 0 differ`);
