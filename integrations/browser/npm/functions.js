// Functions in WGSL for kernels of one's own.

import * as module from './wgpu_cast_web_plans.js';
import { OPTIONS, castOptions, choice, described, known, object, wrong } from './arguments.js';
import { castCode, named, optionBits } from './plans.js';
import { called } from './thrown.js';

/** A function of a line: its name, the type of its result and those of its arguments. */
function read(line) {
  const [name, result, ...given] = line.split('\t');
  return { name, result: result || undefined, arguments: given };
}

function table(lines) {
  const [variable, bytes, ...functions] = lines.split('\n');
  const [fill, lookUp, lookUpWord] = functions.map(read);
  return { variable, bytes: Number(bytes), fill, lookUp, lookUpWord };
}

function bits(options = {}) {
  object('options', options);
  known('the options', options, OPTIONS);
  return optionBits(castOptions(options));
}

/** The methods by their numbers in the module. */
const METHODS = [
  'decode', 'decodeFour', 'decodeWord', 'decodeVector', 'encode', 'encodeFour', 'encodeWord', 'encodeVector', 'lane', 'withLane',
  'load', 'loadValue', 'store', 'storeAtomic', 'storeValue',
];

/** What `functions` is given, read before the module is waited for. */
export function functionsGiven(prefix, given = {}) {
  if (typeof prefix !== 'string') throw wrong('prefix', 'a string', prefix);
  object('options', given);
  known('the options', given, ['values']);
  return [prefix, choice('values', ['f32', 'f16'], given.values ?? 'f32')];
}

/** Functions under one prefix. Each method writes a function, unless it is written, and tells its name and types. */
export class Functions {
  #functions;

  constructor(prefix, values) {
    this.#functions = called(() => new module.Functions(prefix, values === 'f16'));
  }

  /** The text of all functions that were asked for. */
  get wgsl() { return this.#functions.wgsl; }

  /** The functions that were asked for, in that order. */
  get list() { return this.#functions.list.split('\n').filter(Boolean).map(read); }

  cast(from, to, options) {
    const code = castCode(named(from), named(to), bits(options));
    return read(called(() => this.#functions.cast(code)));
  }

  castTable(from, to, options) {
    const code = castCode(named(from), named(to), bits(options));
    return table(called(() => this.#functions.castTable(code)));
  }

  decodeTable(from) { return table(called(() => this.#functions.decodeTable(named(from).number))); }

  decode(from) { return this.#write('decode', from); }

  decodeFour(from) { return this.#write('decodeFour', from); }

  decodeWord(from) { return this.#write('decodeWord', from); }

  decodeVector(from) { return this.#write('decodeVector', from); }

  encode(to, options) { return this.#write('encode', to, options); }

  encodeFour(to, options) { return this.#write('encodeFour', to, options); }

  encodeWord(to, options) { return this.#write('encodeWord', to, options); }

  encodeVector(to, options) { return this.#write('encodeVector', to, options); }

  lane(type) { return this.#write('lane', type); }

  withLane(type) { return this.#write('withLane', type); }

  load(type, array) { return this.#over('load', type, array); }

  loadValue(from, array) { return this.#over('loadValue', from, array); }

  store(type, array) { return this.#over('store', type, array); }

  storeValue(to, array, options) { return this.#over('storeValue', to, array, options); }

  storeAtomic(type, array) {
    if (typeof array !== 'string') throw wrong('array', 'a name', array);
    return this.#write('storeAtomic', type, {}, array);
  }

  #over(method, type, array, options) {
    if (typeof array === 'string') return this.#write(method, type, options, array);
    if (typeof array?.vectors !== 'string') throw wrong('array', 'a name, or { vectors: name }', array);
    return this.#write(method, type, options, array.vectors, true);
  }

  #write(method, type, options, array = '', vectors = false) {
    const [{ number }, given] = [named(type), bits(options)];
    return read(called(() => this.#functions.write(METHODS.indexOf(method), number, given, array, vectors)));
  }
}
