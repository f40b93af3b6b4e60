// Measures casts beside copies, on the CPU, on the GPU, and from the page to the GPU and back.

import { withGpu } from './device.js';
import { cpu, gpu as withDevice } from './modules.js';

const PAIRS = [['float', 'float16'], ['float', 'float8e4m3fn'], ['float16', 'float'], ['int64', 'int32']];

/** Each median is of as many runs, after one that is not counted. */
const RUNS = 5;

/** Casts on the GPU in one measurement, so that waiting for it is a small part. */
const REPEATED = 8;

/** What takes less is repeated, as the clock of a page has steps of 0.1 ms. */
const LEAST = 20;

/** The median time in ms. */
async function median(work) {
  const times = [];
  let repeated = 1;
  for (let run = 0; run <= RUNS; run += 1) {
    const start = performance.now();
    for (let i = 0; i < repeated; i += 1) await work();
    const each = (performance.now() - start) / repeated;
    if (run > 0) times.push(each);
    else repeated = Math.min(Math.max(1, Math.ceil(LEAST / Math.max(each, 0.1))), 200);
  }
  return times.sort((a, b) => a - b)[Math.floor(RUNS / 2)];
}

/** Bytes to the GPU and as many as a result has back, without a cast: what any cast there takes at least. */
export async function transfers(device, source, written) {
  const size = (bytes) => Math.ceil(bytes / 4) * 4;
  const { COPY_DST, COPY_SRC, STORAGE, MAP_READ } = GPUBufferUsage;
  const input = device.createBuffer({ size: size(source.length), usage: STORAGE | COPY_DST });
  const output = device.createBuffer({ size: size(written), usage: STORAGE | COPY_SRC });
  const staging = device.createBuffer({ size: size(written), usage: COPY_DST | MAP_READ });
  device.queue.writeBuffer(input, 0, source);
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(output, 0, staging, 0, size(written));
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const result = new Uint8Array(staging.getMappedRange()).slice(0, written);
  [input, output, staging].forEach((buffer) => buffer.destroy());
  return result;
}

/**
 * Measures pairs of types. A row has the medians in ms of a cast and of a copy of as many bytes, and the bytes read and written.
 * `device` is `cpu`, or `gpu` for all places: `cpu`, `gpu` (between its buffers) and `transfer` (to the GPU and back).
 */
export async function bench({ elements, timeout, device, pairs = PAIRS }, { progress, stopped, turn }) {
  const { castOnCpu, packedBytes } = await cpu;
  const isOnGpu = device === 'gpu';
  const rows = [];
  const all = pairs.length * (isOnGpu ? 3 : 1);
  let own;
  /** Measures a row, unless the user has stopped. */
  const measure = async (place, [from, to], copy, cast, bytes) => {
    await turn();
    if (stopped()) return;
    const copied = await copy();
    await turn();
    if (stopped()) return;
    rows.push({ place, from, to, bytes, copy: copied, cast: await cast() });
    progress({ row: rows.at(-1), done: rows.length, all });
  };
  try {
    if (isOnGpu) {
      const adapter = await navigator.gpu?.requestAdapter();
      const { maxBufferSize } = adapter?.limits ?? {};
      own = await adapter?.requestDevice({ requiredLimits: { maxBufferSize } });
    }
    for (const pair of pairs) {
      const [from, to] = pair;
      const [read, written] = [packedBytes(from, elements), packedBytes(to, elements)];
      const bytes = read + written;
      const source = new Uint8Array(read);
      // Ordinary floats of one exponent, so that no cast meets only zeros.
      for (let i = 0; i < read; i += 1) source[i] = i % 4 === 3 ? 0x3f : (i * 167) & 0xff;
      // Into new memory, as the cast.
      const half = source.subarray(0, Math.min(read, bytes / 2));
      await measure('cpu', pair, async () => (await median(() => half.slice())) * (bytes / (2 * half.length)),
        () => median(() => castOnCpu(from, source, elements, to, undefined).free()), bytes);
      if (stopped()) break;
      if (!isOnGpu) continue;
      await withGpu(timeout, async (gpu) => {
        const { DeviceBench } = await withDevice();
        const resident = await DeviceBench.create(gpu, from, to, elements);
        await measure('gpu', pair, async () => (await median(() => resident.copy(REPEATED))) / REPEATED,
          async () => (await median(() => resident.cast(REPEATED))) / REPEATED, bytes);
        resident.free();
        await measure('transfer', pair, () => median(() => transfers(own, source, written)),
          () => median(async () => (await gpu.cast(from, source, elements, to, undefined)).free()), bytes);
      });
      if (stopped()) break;
    }
  } finally {
    own?.destroy();
  }
  return { done: rows.length, all };
}
