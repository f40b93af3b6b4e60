// One call for a cast on a device. Unlike a caster, it makes the result's buffer, submits, and has error scopes of its own.

import { OPTIONS, castOptions, count, isBuffer, known, object, wrong } from './arguments.js';
import { bytesOf, kept, suitable } from './arrays.js';
import { Caster, preparing } from './caster.js';
import { DeviceError, DeviceLostError, OutOfMemoryError, SliceError } from './errors.js';
import { COPY_DST, COPY_SRC, STORAGE } from './flags.js';
import { named } from './plans.js';
import { sliceOf } from './slices.js';
import { refused } from './thrown.js';

const casters = new WeakMap();

/** The caster of a device, made once. */
function casterOf(device) {
  if (!casters.has(device)) casters.set(device, new Caster(device));
  return casters.get(device);
}

/** Why devices were lost. */
const losses = new WeakMap();

/** A buffer for packed bytes, in whole words. */
function bufferOf(device, label, size, mappedAtCreation) {
  const words = Math.max(4, Math.ceil(size / 4) * 4);
  return device.createBuffer({ label: label ?? 'cast', size: words, usage: STORAGE | COPY_SRC | COPY_DST, mappedAtCreation });
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
  if (thrown) {
    errors.catch(() => {});
    // Browsers throw a RangeError where the memory for contents is missing.
    throw thrown instanceof RangeError ? refused(OutOfMemoryError, from, to, 'out of memory', { cause: thrown }) : thrown;
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

/** What `castGpu` is given, read at once. The source is a slice, or an array whose bytes are the caller's own until they are kept. */
export function castGpuGiven(device, source, from, to, options = {}) {
  object('options', options);
  known('the options', options, ['elements', 'label', ...OPTIONS]);
  const { elements, label } = options;
  if (elements !== undefined) count('elements', elements);
  const read = { device, from, to, elements, options: { label, ...castOptions(options) } };
  return isBuffer(source) || isBuffer(source?.buffer)
    ? { ...read, slice: sliceOf('source', source) }
    : { ...read, array: bytesOf(source, 'a GPUBuffer, a slice of one or a typed array') };
}

/** The same for a call that waits. */
export function keeping(read) {
  return read.array ? { ...read, array: kept(read.array) } : read;
}

/** The slice that is to be cast, if there is one, and how many elements all bytes of the source have. */
function sourceOf({ array, slice }, type, target) {
  // A string's elements have no width; the caster refuses them.
  const elements = (bytes) => (type.bits === 0 ? 0 : Math.floor((bytes * 8) / type.bits));
  if (array) {
    suitable(array, type);
    const { length } = array.bytes;
    if ((length * 8) % type.bits >= 8) throw new TypeError(`source must be whole elements of ${type.name}, got ${length} bytes`);
    return { all: elements(length) };
  }
  // Any part of a slice may be cast, also the start of a longer one.
  const { buffer, offset, size, first = 0 } = slice;
  if (size === undefined && offset > buffer.size) throw wrong('source.offset', `at most ${buffer.size}, the bytes of the buffer`, offset);
  const alignment = Math.max(1, type.bits / 8);
  // Planning checks it too, but not of a cast without elements, as the last bytes of a buffer may be one.
  if (offset % alignment !== 0) {
    const text = `the source slice starts at byte ${offset}, which is not a multiple of ${alignment}`;
    throw refused(SliceError, type.name, target.name, text, { side: 'source', offset, alignment, fault: 'alignment' });
  }
  const all = elements(size ?? buffer.size - offset);
  if (first > all) throw wrong('source.first', `at most ${all}, the elements of the slice`, first);
  return { slice: { buffer, offset, size, first }, all: all - first };
}

/** Casts a buffer, a slice of one, or an array of packed codes. Returns a new buffer, which other commands may use at once. */
export async function castGpu(read) {
  const { device, from, to, elements, options } = read;
  const [type, target] = [named(from), named(to)];
  const { slice, all } = sourceOf(read, type, target);
  let cast = preparing(casterOf(device), from, to, elements ?? all, options);
  let { array } = read;
  // Where all kernels are compiled already, the array goes to the device before this function returns, and is not copied before.
  if (cast instanceof Promise) {
    // Nobody waits for the kernels if there is no memory for a copy.
    cast.catch(() => {});
    ({ array } = keeping(read));
    cast = await cast;
  }
  const made = [];
  const buffer = (size, bytes) => {
    const one = bufferOf(device, options.label, size, bytes !== undefined);
    made.push(one);
    if (bytes) {
      new Uint8Array(one.getMappedRange()).set(bytes);
      one.unmap();
    }
    return one;
  };
  // An array may be longer than the elements that are asked for.
  const first = elements === undefined ? undefined : 0;
  try {
    return await scoped(device, { from: type.name, to: target.name }, () => {
      const input = slice ?? { buffer: buffer(array.bytes.length, array.bytes), size: array.bytes.length, first };
      const result = buffer(cast.destinationBytes);
      const encoder = device.createCommandEncoder();
      cast.bind(input, result).record(encoder);
      device.queue.submit([encoder.finish()]);
      // The memory is given back when the commands are done.
      if (!slice) input.buffer.destroy();
      return result;
    });
  } catch (error) {
    made.forEach((each) => each.destroy());
    throw error;
  }
}
