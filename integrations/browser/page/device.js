// The worker's GPU: opened when it is needed, opened again after it was lost.

import { Gpu } from './wgpu_cast_web.js';

const DEFAULT_SECONDS = 60;

/** The device that was tested when it was opened, and the one that was not, for verifying. @type {Map<boolean, Promise<Gpu>>} */
const opening = new Map();

/** The device. A lost one is replaced. */
async function open(untested) {
  const gpu = await opening.get(untested)?.catch(() => undefined);
  if (!gpu || gpu.lost) opening.set(untested, Gpu.open(untested));
  return opening.get(untested);
}

/**
 * Does work on the device. After so many seconds the device is given up, which ends the work with an error.
 * @template T
 * @param {number | undefined} seconds
 * @param {(gpu: Gpu) => Promise<T>} work
 * @param {boolean} untested
 * @returns {Promise<T>}
 */
export async function withGpu(seconds, work, untested = false) {
  const gpu = await open(untested);
  let late = false;
  const timer = setTimeout(() => { late = true; gpu.destroy(); }, 1000 * (seconds ?? DEFAULT_SECONDS));
  try {
    return await work(gpu);
  } catch (error) {
    if (late) error.message += ` (after ${seconds ?? DEFAULT_SECONDS} seconds)`;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Gives the device up, as if it was lost. */
export async function lose() {
  (await opening.get(false))?.destroy();
}

/** What the page tells about the GPU: the adapter, or why there is none. */
export async function device() {
  if (!isSecureContext) return { reason: 'WebGPU needs a secure origin: https, or this machine' };
  if (!navigator.gpu) return { reason: 'this browser has no WebGPU' };
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) return { reason: 'the browser gives no adapter: no GPU, or one that it refuses' };
  const { vendor, architecture, description } = adapter.info;
  const fallback = adapter.info.isFallbackAdapter ?? adapter.isFallbackAdapter ?? false;
  const found = { vendor, architecture, description, fallback };
  try {
    return { ...found, ...JSON.parse((await open(false)).info), fallback };
  } catch (error) {
    return { ...found, reason: error.message };
  }
}
