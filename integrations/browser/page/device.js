// The worker's GPU: opened when it is needed, opened again after it was lost.

import { gpu as module } from './modules.js';

const DEFAULT_SECONDS = 60;

/** The device that was tested when it was opened, and the one that was not, for verifying. @type {Map<boolean, Promise<any>>} */
const opening = new Map();

/** The device. A lost one is replaced. */
async function open(untested) {
  const { Gpu } = await module();
  const gpu = await opening.get(untested)?.catch(() => undefined);
  if (!gpu || gpu.lost) opening.set(untested, Gpu.open(untested));
  return opening.get(untested);
}

/**
 * Does work on the device. After so many seconds the device is given up, which ends the work with an error.
 * @template T
 * @param {number | undefined} seconds
 * @param {(gpu: any) => Promise<T>} work
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

/** What is told of an adapter's limits. */
const LIMITS = {
  'largest buffer': 'maxBufferSize',
  'largest storage binding': 'maxStorageBufferBindingSize',
  'alignment of storage bindings': 'minStorageBufferOffsetAlignment',
  'workgroups in a dimension': 'maxComputeWorkgroupsPerDimension',
  'invocations in a workgroup': 'maxComputeInvocationsPerWorkgroup',
};

/** The adapter, or why the browser gives none or no device of it. Needs no module. */
export async function adapter() {
  if (!isSecureContext) return { reason: 'WebGPU needs a secure origin: https, or this machine' };
  if (!navigator.gpu) return { reason: 'this browser has no WebGPU' };
  let found;
  try {
    found = await navigator.gpu.requestAdapter();
  } catch ({ name, message }) {
    return { reason: `${name}: ${message}` };
  }
  if (!found) return { reason: 'the browser gives no adapter: no GPU, or one that it refuses' };
  const { vendor, architecture, description } = found.info;
  const told = {
    vendor, architecture, description,
    fallback: found.info.isFallbackAdapter ?? found.isFallbackAdapter ?? false,
  };
  const limits = Object.fromEntries(Object.entries(LIMITS).map(([term, limit]) => [term, found.limits[limit]]));
  try {
    (await found.requestDevice()).destroy();
    return { ...told, limits };
  } catch ({ name, message }) {
    return { ...told, reason: `${name}: ${message}` };
  }
}

/** The device, which has cast known codes rightly, or why there is none. Loads the module with the GPU. */
export async function device() {
  const found = await adapter();
  if (found.reason) return found;
  try {
    const { name } = await open(false);
    return { ...found, name };
  } catch (error) {
    return { ...found, limits: undefined, reason: error.message };
  }
}
