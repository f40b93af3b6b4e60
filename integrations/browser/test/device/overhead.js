// What binding and recording cost beside code written by hand for one cast: the same pipeline, bind group, parameters and dispatch.

import { filled, UNIFORM } from './tools.js';

const ROUNDS = 41;

/** The median ratio of two functions that are called in turns, and microseconds of a call. The device is idle before each turn. */
async function compared(device, calls, one, other) {
  const times = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, call] of [one, other].entries()) {
      await device.queue.onSubmittedWorkDone();
      const start = performance.now();
      for (let i = 0; i < calls; i += 1) call(i);
      times[index].push(((performance.now() - start) * 1000) / calls);
    }
  }
  const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
  const ratio = median(times[0].map((time, round) => time / times[1][round]));
  return `${ratio.toFixed(2)} times by hand (medians ${median(times[0]).toFixed(2)} and ${median(times[1]).toFixed(2)} µs)`;
}

export async function overhead({ web, device }) {
  const caster = await web.createCaster(device);
  // Other buffers each time, as an engine's tensors are.
  const [sources, destinations] = [4000, 2000].map((bytes) => Array.from({ length: 16 }, () => filled(device, new Uint8Array(bytes))));
  const [source, destination] = [sources[0], destinations[0]];
  const cast = await caster.prepareAsync('float', 'float16', 1000);
  const planned = await web.plan('float', 'float16', 1000, { limits: device.limits, tuning: caster.tuning });
  const [{ parameters, workgroups, bindings }] = planned.dispatches;
  const type = (readOnly) => ({ type: readOnly ? 'read-only-storage' : 'storage' });
  const entries = bindings.map(({ binding, readOnly }) => ({ binding, visibility: 4, buffer: type(readOnly) }));
  const layout = device.createBindGroupLayout({ entries: [...entries, { binding: 4, visibility: 4, buffer: { type: 'uniform' } }] });
  const pipeline = device.createComputePipeline({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ code: planned.kernels[0] }), entryPoint: 'main' },
  });
  const uniform = filled(device, parameters, UNIFORM);
  const group = (buffer, i = 0) => device.createBindGroup({
    layout,
    entries: [
      { binding: 0, resource: { buffer: sources[i % 16], offset: 0, size: 4000 } },
      { binding: 1, resource: { buffer: destinations[i % 16], offset: 0, size: 2000 } }, { binding: 4, resource: { buffer } },
    ],
  });
  const bound = cast.bind(source, destination);
  const own = group(uniform);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  const lines = [
    `bind: ${await compared(device, 200, (i) => cast.bind(sources[i % 16], destinations[i % 16]), (i) => group(uniform, i))}, with parameters that are there`,
    `bind: ${await compared(device, 200, (i) => caster.prepare('float', 'float16', 1 + i).bind(source, destination), () => group(filled(device, parameters, UNIFORM)))}, with prepare, and a buffer of parameters each time`,
    `record: ${await compared(device, 2000, () => bound.recordInPass(pass), () => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, own);
      pass.dispatchWorkgroups(...workgroups);
    })}`,
  ];
  pass.end();
  return lines.join('; ');
}
