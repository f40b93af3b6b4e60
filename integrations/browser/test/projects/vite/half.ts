// `Float16Array` and the whole types of WebGPU, in programs that have them.

import { cast, castGpu } from 'wgpu-cast-web';

export async function half(values: Float16Array, device: GPUDevice): Promise<GPUBuffer> {
  const { data } = await cast(values, 'float16', 'float8e4m3fn');
  // @ts-expect-error: an array of numbers has no element type
  await cast([data.byteLength], 'float16', 'float');
  return castGpu(device, values, 'float16', 'float');
}
