// Runs plans of wgpu-cast on Dawn and compares the buffers with those of the CPU path, byte for byte.
// Arguments: the folder with the plans, then options of Dawn, such as backend=vulkan.

import { readdirSync, readFileSync } from 'node:fs';
import { create, globals } from 'webgpu';

const { GPUBufferUsage, GPUMapMode } = globals;

// This function and the next are what an engine copies. Records a plan. If source and destination are in one buffer,
// both arguments are this buffer.
function record(device, pipelines, encoder, plan, source, destination) {
  const kernels = plan.kernels.map((wgsl) => pipeline(device, pipelines, wgsl));
  const pass = encoder.beginComputePass();
  for (const { kernel, workgroups, parameters, bindings } of plan.dispatches) {
    const uniform = buffer(device, Uint8Array.from(parameters), GPUBufferUsage.UNIFORM);
    const entries = bindings.map(({ binding, side, offset, size }) => (
      { binding, resource: { buffer: side === 'source' ? source : destination, offset, size } }
    ));
    entries.push({ binding: 4, resource: { buffer: uniform } });
    pass.setPipeline(kernels[kernel]);
    pass.setBindGroup(0, device.createBindGroup({ layout: kernels[kernel].getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(...workgroups);
  }
  pass.end();
}

// The pipeline of a kernel, compiled once.
function pipeline(device, pipelines, wgsl) {
  if (!pipelines.has(wgsl)) {
    const compute = { module: device.createShaderModule({ code: wgsl }), entryPoint: 'main' };
    pipelines.set(wgsl, device.createComputePipeline({ layout: 'auto', compute }));
  }
  return pipelines.get(wgsl);
}

// A buffer with these bytes.
function buffer(device, bytes, usage) {
  const made = device.createBuffer({ size: bytes.length, usage: usage | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(made, 0, bytes);
  return made;
}

// Runs a plan on buffers with these bytes, the source's and the destination's or one for both. Returns the bytes of the
// last one.
async function run(device, pipelines, plan, before) {
  device.pushErrorScope('validation');
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
  const buffers = before.map((bytes) => buffer(device, bytes, usage));
  const destination = buffers.at(-1);
  const staging = device.createBuffer({
    size: destination.size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const encoder = device.createCommandEncoder();
  record(device, pipelines, encoder, plan, buffers[0], destination);
  encoder.copyBufferToBuffer(destination, 0, staging, 0, destination.size);
  device.queue.submit([encoder.finish()]);
  const error = await device.popErrorScope();
  if (error) throw error;
  await staging.mapAsync(GPUMapMode.READ);
  const after = Buffer.from(new Uint8Array(staging.getMappedRange()));
  [...buffers, staging].forEach((each) => each.destroy());
  return after;
}

const [folder, ...options] = process.argv.slice(2);
// Dawn ends with this object, so it is kept.
const gpu = create(options);
const adapter = await gpu.requestAdapter();
if (!adapter) {
  console.error('NOT RUN: the plans on Dawn: Dawn accepts none of the adapters here (see README.md)');
  process.exit(3);
}
const device = await adapter.requestDevice();
let [pairs, casts, elements, wrong] = [0, 0, 0, 0];
for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const pair = file.slice(0, -'.json'.length);
  const data = readFileSync(`${folder}/${pair}.bin`);
  const pipelines = new Map();
  for (const cast of JSON.parse(readFileSync(`${folder}/${file}`))) {
    const expected = data.subarray(...cast.after);
    const after = await run(device, pipelines, cast.plan, cast.before.map((range) => data.subarray(...range)));
    if (!after.equals(expected)) {
      const byte = after.findIndex((value, i) => value !== expected[i]);
      console.error(`${pair}, ${cast.variant}: byte ${byte} of ${after.length} differs`);
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
process.exitCode = wrong === 0 && pairs > 0 ? 0 : 1;
