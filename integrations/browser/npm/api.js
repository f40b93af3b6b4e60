// What the package exports, for a way to load its module.

import * as module from './wgpu_cast_web.js';
import { ARRAYS, codes, count, options as checked } from './arguments.js';

const OPTIONS = ['device', 'elements', 'saturate', 'roundMode', 'int4Overflow', 'float4Nan'];
const SETTINGS = ['device', 'thorough', 'every', 'progress', 'signal'];

/** `hasGpu` is false where the module cannot reach a GPU. */
export function api(load, { hasGpu = true } = {}) {
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
    if (typeof name !== 'string') throw new TypeError(`an element type is named by a string, got ${name}`);
    const found = names.find((type) => [type.name, ...type.aliases].some((known) => known === simple(name)));
    if (!found) throw new TypeError(`unknown element type ${JSON.stringify(name)}`);
    return found;
  }

  /** Opens a device. One that fails on known codes is an error, unless it is wanted untested. */
  async function open(untested) {
    const none = !hasGpu ? 'in Node, casts run on the CPU' : !globalThis.navigator?.gpu ? 'there is no WebGPU here' : undefined;
    if (none) throw Object.assign(new Error(none), { name: 'NoAdapter' });
    return module.Gpu.open(untested);
  }

  /** The device for casts. A lost one is replaced. */
  async function gpu() {
    const opened = await opening?.catch(() => undefined);
    if (!opened || opened.lost) opening = open(false);
    return opening;
  }

  async function cast(source, from, to, given) {
    const { device = 'cpu', elements, ...options } = checked(given, OPTIONS);
    await loaded();
    const [source_type, target] = [named(from), named(to)];
    const bytes = codes(source, source_type);
    const count = elements ?? Math.floor((bytes.length * 8) / source_type.bits);
    const result = device === 'gpu'
      ? await (await gpu()).cast(source_type.name, bytes, count, target.name, options)
      : module.castOnCpu(source_type.name, bytes, count, target.name, options);
    const made = result.bytes;
    const losses = JSON.parse(result.losses);
    result.free();
    const Typed = ARRAYS[target.name] ?? Uint8Array;
    return { data: new Typed(made.buffer, made.byteOffset, made.byteLength / Typed.BYTES_PER_ELEMENT), losses };
  }

  async function selfTest(given) {
    const { device = 'cpu', thorough = false, every, progress, signal } = checked(given, SETTINGS);
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
    packedBytes: async (type, elements) => {
      await loaded();
      return module.packedBytes(named(type).name, count('elements', elements));
    },
    elementTypes: async () => { await loaded(); return JSON.parse(module.elementTypes()); },
    version: async () => { await loaded(); return module.version(); },
  };
}
