// What a program in TypeScript may write, and what it may not. `tsc` reads it; nothing runs it.

import {
  CastError, DeviceError, DeviceLostError, ElementWidthError, KernelError, LimitError, NoKernelError, OutOfMemoryError, OverlapError,
  SliceError, StridesError, WgslNameError, cast, castGpu, createCaster, elementTypes, functions, packedBytes, plan, selfTest, version,
} from 'wgpu-cast-web';
import type { Bound, Caster, Functions, Plan, Prepared, Slice, View, WgslFunction } from 'wgpu-cast-web';

export async function arrays(half: Uint16Array): Promise<number> {
  const { data, losses } = await cast(half, 'float16', 'float8e4m3fn', { saturate: false, device: 'gpu', elements: 3 });
  const { equal, mismatches, next } = await selfTest({ every: 7, thorough: true, signal: AbortSignal.timeout(1), progress: ({ done }) => done });
  const names: string[] = (await elementTypes()).flatMap(({ name, aliases }) => [name, ...aliases]);
  // @ts-expect-error: a misspelt option
  await cast(half, 'float16', 'float8e4m3fn', { saturated: false });
  // @ts-expect-error: an array of numbers has no element type
  await cast([1, 2], 'float', 'int8');
  return losses.saturated + data.byteLength + (await packedBytes('int4', 3)) + (await version()).length + names.length + mismatches.length
    + Number(equal) + (next ?? '').length;
}

export async function buffers(device: GPUDevice, buffer: GPUBuffer, encoder: GPUCommandEncoder, pass: GPUComputePassEncoder): Promise<GPUBuffer> {
  const caster: Caster = await createCaster(device, { limits: { maxBufferSize: 1 << 20 }, tuning: { lookup: 'computed', dispatchElements: 99 } });
  const view: View = { shape: [2, 3], sourceStrides: Int32Array.of(1, 2), destinationStrides: [3, 1] };
  const prepared: Prepared = await caster.prepareAsync('float', 'float16', view, { label: 'a', roundMode: 'nearest' });
  const slice: Slice = { buffer, offset: 4, size: 8, first: 2 };
  const bound: Bound = caster.prepare('float', 'int4', 6, { int4Overflow: 'clamp' }).bind(buffer, slice);
  bound.record(encoder);
  bound.recordInPass(pass);
  const [{ pipeline, bindGroup, workgroups: [x, y, z] }]: { pipeline: GPUComputePipeline, bindGroup: GPUBindGroup, workgroups: number[] }[] = bound.dispatches;
  // @ts-expect-error: a misspelt part of a slice
  prepared.bind(buffer, { buffer, ofset: 4 });
  // @ts-expect-error: a misspelt limit
  await createCaster(device, { limits: { maxBuferSize: 1 } });
  // @ts-expect-error: it has a length, and is no array
  await caster.prepareAsync('float', 'float16', { shape: { length: 0 } });
  await selfTest({ device });
  console.log(pipeline, bindGroup, x, y, z, prepared.sourceBytes + prepared.destinationBytes + prepared.elements, prepared.from, prepared.to);
  return castGpu(device, slice, 'float', 'float8e8m0', { float4Nan: 'max', elements: 1, label: 'b' });
}

export async function text(): Promise<string> {
  const planned: Plan = await plan('float', 'int8', 5, { placement: { source: { offset: 4 }, destination: { first: 1 }, buffers: 'one' }, limits: {} });
  const bytes: number = planned.dispatches.reduce((sum, { parameters, bindings }) => sum + parameters.length + bindings.length, 0);
  const written: Functions = await functions('q', { values: 'f16' });
  const one: WgslFunction = written.load('int4', { vectors: 'weights' });
  const table = written.decodeTable('float4e2m1');
  // @ts-expect-error: there is no such type of values
  await functions('q', { values: 'f64' });
  return planned.kernels[0] + bytes + written.wgsl + one.arguments.join() + table.fill.name + (table.lookUpWord?.result ?? '');
}

/** Each class has its own name and fields. */
export function told(error: unknown): string {
  if (error instanceof SliceError) return `${error.name satisfies 'Slice'} ${error.side} ${error.offset} ${error.fault} ${error.expected ?? 0}`;
  if (error instanceof LimitError) return `${error.name satisfies 'Limit'} ${error.limit} ${error.needed - error.allowed}`;
  if (error instanceof OverlapError) return error.ranges.map(({ side, start, end }) => `${side} ${end - start}`).join();
  if (error instanceof StridesError) return `${error.axis ?? 'none'}`;
  if (error instanceof ElementWidthError) return `${error.elementType} ${error.allowed.toFixed()}`;
  if (error instanceof WgslNameError) return `${error.wgslName} ${error.taken satisfies boolean}`;
  const others = [NoKernelError, KernelError, OutOfMemoryError, DeviceLostError, DeviceError];
  if (others.some((each) => error instanceof each)) return 'another';
  return error instanceof CastError ? `${error.from} ${error.to} ${error.message}` : '';
}
