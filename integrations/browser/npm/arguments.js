// Checks arguments before any work. A wrong one is a TypeError that names it.

/** The typed arrays whose elements are those of a type. All others hold packed codes in a Uint8Array. */
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

/** The type of values that a typed array of floats holds. Arrays of integers may also hold the codes of other types. */
const FLOATS = { Float16Array: 'float16', Float32Array: 'float', Float64Array: 'double' };

function wrong(name, expected, given) {
  return new TypeError(`${name} must be ${expected}, got ${described(given)}`);
}

function described(value) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value !== 'object') return String(value);
  return Array.isArray(value) ? 'an array' : (Object.prototype.toString.call(value).slice(8, -1));
}

/** The bytes of packed codes of a type. */
export function codes(source, type) {
  if (!ArrayBuffer.isView(source) || source instanceof DataView) throw wrong('source', 'a typed array', source);
  const kind = described(source);
  const holds = FLOATS[kind];
  if (holds && holds !== type.name) throw new TypeError(`source must be packed codes of ${type.name}, got a ${kind} of ${holds}`);
  const bytes = type.bits >= 8 ? type.bits / 8 : 1;
  if (source.BYTES_PER_ELEMENT !== 1 && source.BYTES_PER_ELEMENT !== bytes) {
    throw wrong('source', `packed codes of ${type.name} in elements of 1 or ${bytes} bytes`, source);
  }
  return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
}

/** The options in an object, which has no others. */
export function options(given, known) {
  if (given === undefined) return {};
  if (given === null || typeof given !== 'object') throw wrong('options', 'an object', given);
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) throw new TypeError(`unknown option ${JSON.stringify(name)}; there are ${known.join(', ')}`);
  }
  const { device, elements, saturate } = given;
  if (device !== undefined && device !== 'cpu' && device !== 'gpu') throw wrong('device', "'cpu' or 'gpu'", device);
  if (elements !== undefined) count('elements', elements);
  if (saturate !== undefined && typeof saturate !== 'boolean') throw wrong('saturate', 'a boolean', saturate);
  chosen('roundMode', ['up', 'down', 'nearest'], given);
  chosen('int4Overflow', ['wrap', 'clamp'], given);
  chosen('float4Nan', ['zero', 'max'], given);
  return given;
}

function chosen(name, known, given) {
  const value = given[name];
  if (value === undefined || known.includes(value)) return;
  throw wrong(name, known.map((each) => `'${each}'`).join(' or '), value);
}

/** A number of elements. */
export function count(name, value) {
  if (!Number.isSafeInteger(value) || value < 0) throw wrong(name, 'a number of elements', value);
  return value;
}
