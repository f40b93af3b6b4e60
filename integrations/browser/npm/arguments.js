// Checks arguments before any work. A wrong one is a TypeError that names it.

/** The names of the options of the cast itself. */
export const OPTIONS = ['saturate', 'roundMode', 'int4Overflow', 'float4Nan'];

export function wrong(name, expected, given) {
  return new TypeError(`${name} must be ${expected}, got ${described(given)}`);
}

export function described(value) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value !== 'object') return String(value);
  return Array.isArray(value) ? 'an array' : (Object.prototype.toString.call(value).slice(8, -1));
}

/** The options in an object, which has no others. Here and below, each is read once, wherever the object has it from. */
export function options(given = {}) {
  object('options', given);
  known('the options', given, ['device', 'elements', ...OPTIONS]);
  const { device, elements } = given;
  if (device !== undefined) choice('device', ['cpu', 'gpu'], device);
  if (elements !== undefined) count('elements', elements);
  return { device, elements, options: castOptions(given) };
}

/** The settings of a self-test in an object, which has no others. */
export function settings(given = {}) {
  object('options', given);
  known('the options', given, ['device', 'thorough', 'every', 'progress', 'signal']);
  const { device, thorough, every, progress, signal } = given;
  if (device !== undefined && !isDevice(device)) choice('device', ['cpu', 'gpu'], device, ' or a GPUDevice');
  if (thorough !== undefined && typeof thorough !== 'boolean') throw wrong('thorough', 'a boolean', thorough);
  if (every !== undefined && !(Number.isSafeInteger(every) && every > 0)) throw wrong('every', 'a number of at least 1', every);
  if (progress !== undefined && typeof progress !== 'function') throw wrong('progress', 'a function', progress);
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') throw wrong('signal', 'an AbortSignal', signal);
  return { device, thorough, every, progress, signal };
}

/** The options of the cast itself. */
export function castOptions({ saturate, roundMode, int4Overflow, float4Nan }) {
  if (saturate !== undefined && typeof saturate !== 'boolean') throw wrong('saturate', 'a boolean', saturate);
  if (roundMode !== undefined) choice('roundMode', ['up', 'down', 'nearest'], roundMode);
  if (int4Overflow !== undefined) choice('int4Overflow', ['wrap', 'clamp'], int4Overflow);
  if (float4Nan !== undefined) choice('float4Nan', ['zero', 'max'], float4Nan);
  return { saturate, roundMode, int4Overflow, float4Nan };
}

/** Checks that a value is an object. */
export function object(name, given) {
  if (given === null || typeof given !== 'object') throw wrong(name, 'an object', given);
}

/** Checks that an object has no properties but these. */
export function known(name, given, names) {
  for (const key of Object.keys(given)) {
    if (names.includes(key)) continue;
    const what = name === 'the options' ? 'option' : 'property';
    const of = name === 'the options' ? '' : ` of ${name}`;
    throw new TypeError(`unknown ${what} ${JSON.stringify(key)}${of}; there are ${names.join(', ')}`);
  }
}

/** Checks that a value is one of some words. `others` says what else may be given. */
export function choice(name, words, value, others = '') {
  if (!words.includes(value)) throw wrong(name, words.map((word) => `'${word}'`).join(' or ') + others, value);
  return value;
}

/** A number of elements. */
export function count(name, value) {
  if (!Number.isSafeInteger(value) || value < 0) throw wrong(name, 'a number of elements', value);
  return value;
}

/** A number of bytes. */
export function bytes(name, value) {
  if (!Number.isSafeInteger(value) || value < 0) throw wrong(name, 'a number of bytes', value);
  return value;
}

/** Whole numbers, as an array of floats. */
export function numbers(name, given) {
  if (!Array.isArray(given) && (!ArrayBuffer.isView(given) || given instanceof DataView)) throw wrong(name, 'an array of integers', given);
  const all = Float64Array.from(given, (each) => (typeof each === 'number' || typeof each === 'bigint' ? Number(each) : NaN));
  const at = all.findIndex((number) => !Number.isSafeInteger(number));
  if (at >= 0) throw wrong(`${name}[${at}]`, 'an integer', given[at]);
  return all;
}

/** Whether a value is a buffer of a GPU. Node has no global class of them. */
export function isBuffer(value) {
  return typeof value === 'object' && value !== null && typeof value.mapAsync === 'function';
}

/** Whether a value is a device of a GPU, of any implementation. */
export function isDevice(value) {
  return typeof value?.createComputePipeline === 'function';
}
