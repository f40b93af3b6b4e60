// Where the tensors of a cast lie: slices of the caller's buffers, and the places that a planner takes.

import { bytes as byteCount, count, isBuffer, known, wrong } from './arguments.js';
import { STORAGE } from './flags.js';

const SLICE = ['buffer', 'offset', 'size', 'first'];

/** A slice with all of its parts. A buffer alone is a slice from its first byte on. */
export function sliceOf(name, given) {
  if (isBuffer(given)) return { buffer: given, offset: 0, size: undefined, first: undefined };
  if (typeof given !== 'object' || given === null) throw wrong(name, 'a GPUBuffer or a slice of one', given);
  known(name, given, SLICE);
  const { buffer, offset = 0, size, first } = given;
  if (!isBuffer(buffer)) throw wrong(`${name}.buffer`, 'a GPUBuffer', buffer);
  byteCount(`${name}.offset`, offset);
  if (first !== undefined) count(`${name}.first`, first);
  if (size !== undefined) byteCount(`${name}.size`, size);
  return { buffer, offset, size, first };
}

// Places are numbers, which `plans/src/planner.rs` describes: five of each side, how many buffers there are, and whether slices
// are checked.
const OF_SIDE = 5;
const [BUFFERS, CHECKED] = [2 * OF_SIDE, 2 * OF_SIDE + 1];

/** The places of whole tensors at the start of two buffers that are just long enough. `sizes` are the bytes of the tensors. */
export function startsOf([source, destination]) {
  const words = (bytes) => Math.ceil(bytes / 4) * 4;
  return Float64Array.of(0, -1, source, words(source), STORAGE, 0, -1, destination, words(destination), STORAGE, 0, 0);
}

/** The places of two slices, which are to be checked. */
export function placesOf(slices, sizes) {
  const places = new Float64Array(12);
  slices.forEach(({ buffer, offset, size, first }, side) => {
    // A whole tensor has its size; a part lies somewhere in the rest of the buffer.
    const length = size ?? (first === undefined ? sizes[side] : buffer.size - offset);
    places.set([offset, first ?? -1, length, buffer.size, buffer.usage & STORAGE], side * OF_SIDE);
  });
  places[BUFFERS] = slices[0].buffer === slices[1].buffer ? 1 : 0;
  places[CHECKED] = 1;
  return places;
}

/** Whether places are in one buffer. */
export function together(places) {
  return places[BUFFERS] === 1;
}

/**
 * The buffer of a slice, if what was planned and checked for known places holds for it, too: it is at the same place of a buffer that is as
 * long or longer. Otherwise `undefined`, also for what is no slice. It makes no object, since most binds need nothing else.
 */
export function covered(places, side, given) {
  let buffer = given;
  let offset = 0;
  let size;
  let first;
  if (!isBuffer(given)) {
    if (typeof given !== 'object' || given === null) return undefined;
    for (const key in given) if (!SLICE.includes(key)) return undefined;
    ({ buffer, offset = 0, size, first } = given);
    if (!isBuffer(buffer)) return undefined;
  }
  const at = side * OF_SIDE;
  const all = buffer.size;
  if (offset !== places[at] || all < places[at + 3] || (buffer.usage & STORAGE) === 0) return undefined;
  if (first === undefined) {
    // A whole tensor's slice has one of two lengths.
    return places[at + 1] < 0 && (size === undefined || size === places[at + 2]) ? buffer : undefined;
  }
  const length = size === undefined ? all - offset : size;
  return first >= 0 && first === places[at + 1] && Number.isSafeInteger(length) && length >= places[at + 2] ? buffer : undefined;
}
