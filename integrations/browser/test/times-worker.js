// Measures in a worker: the CPU route, the GPU route, the transfers alone, and one dispatch written by hand.

import { transfers } from './bench.js';
import { cpu, gpu as whole } from './modules.js';

/** All of a tensor by one dispatch, as a page without this library would do it. */
async function single(device, pipeline, planned, source, written) {
  const { COPY_DST, COPY_SRC, STORAGE, MAP_READ, UNIFORM } = GPUBufferUsage;
  const input = device.createBuffer({ size: source.length, usage: STORAGE | COPY_DST });
  const output = device.createBuffer({ size: written, usage: STORAGE | COPY_SRC });
  const staging = device.createBuffer({ size: written, usage: COPY_DST | MAP_READ });
  const parameters = Uint8Array.from(planned.parameters);
  const uniform = device.createBuffer({ size: parameters.length, usage: UNIFORM | COPY_DST });
  device.queue.writeBuffer(input, 0, source);
  device.queue.writeBuffer(uniform, 0, parameters);
  const entries = planned.bindings.map(({ binding, side, offset, size }) => (
    { binding, resource: { buffer: side === 'source' ? input : output, offset, size } }
  ));
  entries.push({ binding: 4, resource: { buffer: uniform } });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(...planned.workgroups);
  pass.end();
  encoder.copyBufferToBuffer(output, 0, staging, 0, written);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const result = new Uint8Array(staging.getMappedRange()).slice();
  [input, output, staging, uniform].forEach((buffer) => buffer.destroy());
  return result;
}

async function measure({ elements, runs }) {
  const { castOnCpu } = await cpu;
  const { Gpu, plan } = await whole();
  const gpu = await Gpu.open();
  const adapter = await navigator.gpu.requestAdapter();
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
  const planned = JSON.parse(plan('float', 'float16', elements, undefined));
  const source = new Uint8Array(new Float32Array(elements).map((_, index) => Math.sin(index)).buffer);
  const written = 2 * elements;
  const compute = { module: device.createShaderModule({ code: planned.kernels[planned.dispatches[0].kernel] }) };
  const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute });
  const work = {
    cpu: async () => castOnCpu('float', source, elements, 'float16', undefined).free(),
    gpu: async () => (await gpu.cast('float', source, elements, 'float16', undefined)).free(),
    transfers: () => transfers(device, source, written),
    single: () => single(device, pipeline, planned.dispatches[0], source, written),
  };
  const times = Object.fromEntries(Object.keys(work).map((name) => [name, []]));
  for (let run = 0; run <= runs; run += 1) {
    for (const [name, once] of Object.entries(work)) {
      const start = performance.now();
      await once();
      if (run > 0) times[name].push(performance.now() - start);
    }
  }
  return times;
}

onmessage = async ({ data }) => {
  try {
    postMessage(await measure(data));
  } catch (error) {
    postMessage({ error: `${error.name}: ${error.message}` });
  }
};
