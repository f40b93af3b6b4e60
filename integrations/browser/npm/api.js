// What the package exports, for a way to load its module.

import * as module from './wgpu_cast_web.js';

/** The typed arrays whose elements are those of a type. All others hold packed codes in a Uint8Array. */
const ARRAYS = {
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

export function api(load) {
  let loading;
  /** Loads the module once. */
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  let names;
  let opening;

  /** The type of a name, and its width. */
  function named(name) {
    names ??= JSON.parse(module.elementTypes());
    const simple = (text) => String(text).toLowerCase().replaceAll(/[-_]/g, '');
    const found = names.find((type) => [type.name, ...type.aliases].some((known) => known === simple(name)));
    if (!found) throw new TypeError(`unknown element type ${JSON.stringify(name)}`);
    return found;
  }

  /** Opens a device. One that fails on known codes is an error, unless it is wanted untested. */
  async function open(untested) {
    if (!globalThis.navigator?.gpu) throw Object.assign(new Error('there is no WebGPU here'), { name: 'NoAdapter' });
    return module.Gpu.open(untested);
  }

  /** The device for casts. A lost one is replaced. */
  async function gpu() {
    const opened = await opening?.catch(() => undefined);
    if (!opened || opened.lost) opening = open(false);
    return opening;
  }

  async function cast(source, from, to, { device = 'cpu', elements, ...options } = {}) {
    await loaded();
    const [source_type, target] = [named(from), named(to)];
    const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    const count = elements ?? Math.floor((bytes.length * 8) / source_type.bits);
    const result = device === 'gpu'
      ? await (await gpu()).cast(source_type.name, bytes, count, target.name, options)
      : module.castOnCpu(source_type.name, bytes, count, target.name, options);
    const codes = result.bytes;
    const losses = JSON.parse(result.losses);
    result.free();
    const Typed = ARRAYS[target.name] ?? Uint8Array;
    return { data: new Typed(codes.buffer, codes.byteOffset, codes.byteLength / Typed.BYTES_PER_ELEMENT), losses };
  }

  async function selfTest({ device = 'cpu', thorough = false, every, progress, signal } = {}) {
    await loaded();
    const opened = device === 'gpu' ? await open(true) : undefined;
    const verifier = new module.Verifier(thorough, every);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const more = opened ? await verifier.nextOnGpu(opened) : verifier.nextOnCpu();
        const state = JSON.parse(verifier.state);
        if (!more) return { ...state, equal: state.mismatches.length === 0 };
        progress?.(state);
      }
    } finally {
      verifier.free();
      opened?.destroy();
      opened?.free();
    }
  }

  return {
    cast,
    selfTest,
    packedBytes: async (type, elements) => { await loaded(); return module.packedBytes(named(type).name, elements); },
    elementTypes: async () => { await loaded(); return JSON.parse(module.elementTypes()); },
    version: async () => { await loaded(); return module.version(); },
  };
}
