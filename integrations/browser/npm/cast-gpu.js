// One call for a cast on a device. Unlike a caster, it makes the result's buffer, submits, and has error scopes of its own.

import { castOptions, codes, count, isBuffer, known, object } from './arguments.js';
import { Caster } from './caster.js';
import { DeviceError, DeviceLostError, OutOfMemoryError } from './errors.js';
import { OPTIONS, named } from './plans.js';
import { refused } from './thrown.js';

// Node has the flags of WebGPU in no global.
export const [COPY_SRC, COPY_DST, STORAGE] = [0x4, 0x8, 0x80];

const casters = new WeakMap();

/** The caster of a device, made once. */
function casterOf(device) {
  if (!casters.has(device)) casters.set(device, new Caster(device));
  return casters.get(device);
}

/** Why devices were lost. */
const losses = new WeakMap();

/** A buffer for packed bytes, in whole words. */
function bufferOf(device, label, size, contents) {
  const usage = STORAGE | COPY_SRC | COPY_DST;
  const words = Math.max(4, Math.ceil(size / 4) * 4);
  const buffer = device.createBuffer({ label: label ?? 'cast', size: words, usage, mappedAtCreation: contents !== undefined });
  if (contents !== undefined) {
    new Uint8Array(buffer.getMappedRange()).set(contents);
    buffer.unmap();
  }
  return buffer;
}

/**
 * Calls with scopes for the errors of a device, which are then errors of the cast. What the call throws itself stays. The scopes are gone
 * before their errors are awaited, so that calls beside it keep theirs.
 */
export async function scoped(device, { from, to }, call) {
  if (!losses.has(device)) {
    losses.set(device, undefined);
    device.lost.then((info) => losses.set(device, info));
  }
  device.pushErrorScope('out-of-memory');
  device.pushErrorScope('validation');
  const [result, thrown] = attempted(call);
  const errors = Promise.all([device.popErrorScope(), device.popErrorScope()]);
  // Browsers throw it where the memory for contents is missing.
  if (thrown instanceof RangeError) throw refused(OutOfMemoryError, from, to, 'out of memory', { cause: thrown });
  if (thrown) {
    errors.catch(() => {});
    throw thrown;
  }
  const [error, full] = await errors.catch((cause) => { throw lost(from, to, cause.message, cause); });
  const info = losses.get(device);
  if (info) throw lost(from, to, info.message || info.reason);
  if (full) throw refused(OutOfMemoryError, from, to, 'out of memory', { cause: full });
  if (error) throw refused(DeviceError, from, to, error.message, { cause: error });
  return result;
}

/** The result of a call, or what it throws. */
function attempted(call) {
  try {
    return [call(), undefined];
  } catch (error) {
    return [undefined, error];
  }
}

/** The error for a lost device. */
export function lost(from, to, reason, cause) {
  return refused(DeviceLostError, from, to, `the device was lost: ${reason}`, { cause });
}

/** Casts a buffer, a slice of one, or an array of packed codes. Returns a new buffer, which other commands may use at once. */
export async function castGpu(device, source, from, to, given = {}) {
  object('options', given);
  known('the options', given, ['elements', 'label', ...OPTIONS]);
  const { elements, ...options } = given;
  castOptions(options);
  const [type, target] = [named(from), named(to)];
  if (elements !== undefined) count('elements', elements);
  const slice = isBuffer(source) ? { buffer: source } : source;
  const isSlice = isBuffer(slice?.buffer);
  const contents = isSlice ? undefined : codes(source, type, 'a GPUBuffer, a slice of one or a typed array');
  const bytes = contents?.length ?? slice.size ?? slice.buffer.size - (slice.offset ?? 0);
  const caster = casterOf(device);
  const cast = await caster.prepareAsync(from, to, elements ?? Math.floor((bytes * 8) / type.bits), options);
  return scoped(device, { from: type.name, to: target.name }, () => {
    const input = isSlice ? { first: 0, ...slice } : { buffer: bufferOf(device, options.label, bytes, contents), size: bytes };
    const result = bufferOf(device, options.label, cast.destinationBytes);
    const encoder = device.createCommandEncoder();
    cast.bind(input, result).record(encoder);
    device.queue.submit([encoder.finish()]);
    // The memory is given back when the commands are done.
    if (!isSlice) input.buffer.destroy();
    return result;
  });
}
