// Arrays of a caller: which of them hold the elements of a type, and their bytes.

import { described, wrong } from './arguments.js';
import { OutOfMemoryError } from './errors.js';

/** The typed arrays whose elements are those of a type, as results have them. All other types are packed bytes in a Uint8Array. */
export const ARRAYS = {
  float: Float32Array,
  double: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  // Codes, as no browser's float16 array is everywhere yet.
  float16: Uint16Array,
  bfloat16: Uint16Array,
};

/**
 * The bytes of a typed array of a caller, and its kind, read at once: the array may be changed, detached or made shorter later. The bytes
 * are the caller's own until they are `kept`.
 */
export function bytesOf(source, expected = 'a typed array') {
  if (!ArrayBuffer.isView(source) || source instanceof DataView) throw wrong('source', expected, source);
  const kind = described(source);
  try {
    // It yields nothing here. It refuses arrays without memory, which have the length 0 otherwise.
    Uint8Array.prototype.keys.call(source);
  } catch {
    throw new TypeError(`source must lie in its buffer, got ${kind} of a buffer that is detached or too short`);
  }
  return { kind, bytes: new Uint8Array(source.buffer, source.byteOffset, source.byteLength) };
}

/** The same with a copy of the bytes, for calls that wait before they read them. It is made once. */
export function kept({ kind, bytes, isKept = false }) {
  try {
    return { kind, bytes: isKept ? bytes : bytes.slice(), isKept: true };
  } catch (cause) {
    throw new OutOfMemoryError(`out of memory for a copy of ${bytes.length} bytes`, { cause });
  }
}

/** Checks that an array of this kind holds elements of a type. Numbers of another type, taken for codes, would be other values. */
export function suitable({ kind }, type) {
  const own = ARRAYS[type.name] ? [ARRAYS[type.name].name] : [];
  if (type.name === 'float16') own.push('Float16Array');
  const kinds = [...own, 'Uint8Array', 'Uint8ClampedArray'];
  if (!kinds.includes(kind)) throw new TypeError(`source must be ${kinds.join(' or ')} for ${type.name}, got ${kind}`);
}

/** Checks a length for WebAssembly, which has lengths of 32 bits: a larger number would wrap on the way. */
export function addressable(length) {
  if (length < 2 ** 32) return;
  throw Object.assign(new Error(`source has ${length} bytes; an array must have less than 4 GiB`), { name: 'ShapeOverflow' });
}
