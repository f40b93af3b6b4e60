// Types that onnxruntime-web has not, on its own device. The float16 output of a model stays in its GPU buffer, becomes float8e4m3fn (half the
// memory, for a cache) and float16 again, and is the input of the next model. Nothing of it goes through the host.

import * as ort from 'onnxruntime-web/webgpu';
import { cast, createCaster } from 'wgpu-cast-web';

import { same, square } from './models.js';

const LENGTH = 4099;

export async function main() {
  ort.env.wasm.numThreads = 1;
  const settings = { executionProviders: ['webgpu'], preferredOutputLocation: 'gpu-buffer' };
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return 'there is no WebGPU here';
  const values = Float32Array.from({ length: LENGTH }, (_, index) => Math.sin(index) * 23);
  const { data: codes } = await cast(values, 'float', 'float16');
  // Software adapters cannot compute with float16; their model hands it on.
  const computes = adapter.features.has('shader-f16');
  const first = await ort.InferenceSession.create(computes ? square(LENGTH) : same(LENGTH), settings);
  const next = await ort.InferenceSession.create(same(LENGTH), settings);
  // The device exists after the first session.
  const device = await ort.env.webgpu.device;
  const caster = await createCaster(device);
  const narrow = await caster.prepareAsync('float16', 'float8e4m3fn', LENGTH);
  const wide = await caster.prepareAsync('float8e4m3fn', 'float16', LENGTH);

  const x = computes ? new ort.Tensor('float32', values, [LENGTH]) : new ort.Tensor('float16', codes, [LENGTH]);
  const { y } = await first.run({ x });

  const [STORAGE, COPY_SRC, COPY_DST] = [0x80, 0x4, 0x8];
  const words = (bytes) => Math.ceil(bytes / 4) * 4;
  const made = (bytes) => device.createBuffer({ size: words(bytes), usage: STORAGE | COPY_SRC | COPY_DST });
  const [cache, again] = [made(narrow.destinationBytes), made(wide.destinationBytes)];
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  // onnxruntime's buffers may be longer than their tensors, so the tensor is a part.
  narrow.bind({ buffer: y.gpuBuffer, first: 0 }, cache).recordInPass(pass);
  wide.bind(cache, again).recordInPass(pass);
  pass.end();
  device.queue.submit([encoder.finish()]);

  const input = ort.Tensor.fromGpuBuffer(again, { dataType: 'float16', dims: [LENGTH] });
  const { y: result } = await next.run({ x: input });
  const found = bitsOf(await result.getData());

  // The same on the CPU, of the codes that the first model gave.
  const { data: small } = await cast(bitsOf(await y.getData()), 'float16', 'float8e4m3fn');
  const { data: expected } = await cast(small, 'float8e4m3fn', 'float16');
  const differ = expected.reduce((count, code, index) => count + (found[index] === code ? 0 : 1), 0);
  if (differ > 0) throw new Error(`${differ} of ${LENGTH} elements differ from the CPU path`);
  const model = computes ? 'float16(x * x)' : 'x';
  return `ok: ${LENGTH} float16 (${model}) of onnxruntime-web ${ort.env.versions.web} → float8e4m3fn → float16: 0 differ from the CPU path`;
}

/** The codes of float16, which come as a Float16Array or a Uint16Array. */
function bitsOf({ buffer, byteOffset, length }) {
  return new Uint16Array(buffer, byteOffset, length);
}
