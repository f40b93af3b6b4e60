// A product of a matrix with MXFP4 weights and a vector, in a kernel of one's own. The weights stay in 4 bits, with one scale in
// float8e8m0 for each block of 32, and functions of wgpu-cast decode them where they are used.

import { cast, functions } from 'wgpu-cast-web';

const [ROWS, COLUMNS, BLOCK] = [256, 1024, 32];

export async function main() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return 'there is no WebGPU here';
  return product(await adapter.requestDevice(), { cast, functions });
}

/** Public, so that other programs can give their device, and the package as they have it. */
export async function product(device, { cast: onCpu, functions: inKernel }) {
  // Weights and scales as a model file has them.
  const weights = Float32Array.from({ length: ROWS * COLUMNS }, (_, index) => Math.sin(index * 0.37) * 6);
  const scales = Float32Array.from({ length: weights.length / BLOCK }, (_, index) => 2 ** ((index % 9) - 4));
  const x = Float32Array.from({ length: COLUMNS }, (_, index) => Math.cos(index * 0.11));
  const { data: packed } = await onCpu(weights, 'float', 'float4e2m1');
  const { data: exponents } = await onCpu(scales, 'float', 'float8e8m0');

  const f = await inKernel('q');
  const word = f.decodeWord('float4e2m1');
  const scale = f.loadValue('float8e8m0', 'scales');
  const code = `${f.wgsl}
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> decoded: array<vec4<f32>>;

// Each invocation computes a row. A word has eight weights.
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var sum = 0.0;
  for (var k = 0u; k < ${COLUMNS / 8}u; k = k + 1u) {
    let at = id.x * ${COLUMNS / 8}u + k;
    let eight = ${word.name}(weights[at]);
    let by = ${scale.name}(at / ${BLOCK / 8}u);
    sum = sum + dot(eight[0] * by, x[2u * k]) + dot(eight[1] * by, x[2u * k + 1u]);
    // Only to compare them here.
    decoded[2u * at] = eight[0] * by;
    decoded[2u * at + 1u] = eight[1] * by;
  }
  y[id.x] = sum;
}`;
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto', compute: { module: device.createShaderModule({ code }), entryPoint: 'main' },
  });
  const [STORAGE, COPY_SRC, COPY_DST, MAP_READ] = [0x80, 0x4, 0x8, 0x1];
  const buffer = (size, usage) => device.createBuffer({ size, usage });
  const filled = (array) => {
    const made = buffer(Math.ceil(array.byteLength / 4) * 4, STORAGE | COPY_DST);
    device.queue.writeBuffer(made, 0, array.buffer, array.byteOffset, array.byteLength);
    return made;
  };
  const [y, decoded] = [buffer(4 * ROWS, STORAGE | COPY_SRC), buffer(4 * weights.length, STORAGE | COPY_SRC)];
  const buffers = [filled(packed), filled(exponents), filled(x), y, decoded];
  const entries = buffers.map((each, binding) => ({ binding, resource: { buffer: each } }));
  const back = buffer(y.size + decoded.size, MAP_READ | COPY_DST);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(ROWS / 64);
  pass.end();
  encoder.copyBufferToBuffer(y, 0, back, 0, y.size);
  encoder.copyBufferToBuffer(decoded, 0, back, y.size, decoded.size);
  device.queue.submit([encoder.finish()]);
  await back.mapAsync(MAP_READ);
  const found = new Float32Array(back.getMappedRange());

  // The same weights by the CPU path: every product with a power of two is exact, so all bits are equal.
  const { data: values } = await onCpu(packed, 'float4e2m1', 'float');
  const { data: powers } = await onCpu(exponents, 'float8e8m0', 'float');
  const expected = values.map((value, index) => value * powers[Math.floor(index / BLOCK)]);
  const [bits, of] = [new Uint32Array(found.buffer, found.byteOffset + y.size), new Uint32Array(expected.buffer)];
  const differ = of.reduce((count, each, index) => count + (bits[index] === each ? 0 : 1), 0);
  // Drivers may add in any order and fuse, so the sums are only near.
  const far = Array.from({ length: ROWS }, (_, row) => row).filter((row) => {
    const sum = x.reduce((total, each, column) => total + each * expected[row * COLUMNS + column], 0);
    return !(Math.abs(found[row] - sum) <= 1e-3 * (1 + Math.abs(sum)));
  });
  if (differ > 0 || far.length > 0) throw new Error(`${differ} weights differ, ${far.length} sums are far off`);
  return `ok: ${ROWS} x ${COLUMNS} MXFP4 weights decoded in the product: 0 differ from the CPU path`;
}
