// What the package exports, for ways to load its two modules: the whole one casts on the CPU and brings wgpu; the small one plans casts,
// writes functions and knows the types, and all that takes a GPUDevice is built on it.

import * as plans from './wgpu_cast_web_plans.js';
import { isDevice, options as checked, settings } from './arguments.js';
import { ARRAYS, addressable, bytesOf, kept, suitable } from './arrays.js';
import { castGpu, castGpuGiven, keeping } from './cast-gpu.js';
import { Caster, settingsOf } from './caster.js';
import { Functions, functionsGiven } from './functions.js';
import { elementTypes, packedBytesOf, plan, planGiven, version } from './plans.js';
import { casts } from './self-test.js';
import { typeNamed } from './types.js';

/** What is loaded once, when it is first asked for. From then on it is `loaded`, for calls that need not wait. */
function once(load) {
  let loading;
  const get = () => {
    loading ??= load().then((made) => {
      get.loaded = made;
      return made;
    });
    return loading;
  };
  return get;
}

/** `hasGpu` is false where the whole module cannot reach a GPU. */
export function api(load, { hasGpu = true } = {}) {
  const whole = once(async () => {
    const module = await import('./wgpu_cast_web.js');
    await load.whole(module);
    return module;
  });
  const planning = once(() => load.plans(plans));
  let names;
  let opening;

  /** The type of a name, and its width. */
  function named(module, name) {
    names ??= JSON.parse(module.elementTypes());
    return typeNamed(names, name);
  }

  function noAdapter(message) {
    return Object.assign(new Error(message), { name: 'NoAdapter' });
  }

  function reachable() {
    if (!hasGpu) throw noAdapter('in Node, casts run on the CPU');
  }

  /** Opens a device. One that fails on known codes is an error, unless it is wanted untested. */
  async function open(module, untested) {
    reachable();
    if (!globalThis.navigator?.gpu) throw noAdapter('there is no WebGPU here');
    return module.Gpu.open(untested);
  }

  /** The device for casts. A lost one is replaced. */
  async function gpu(module) {
    const opened = await opening?.catch(() => undefined);
    if (!opened || opened.lost) opening = open(module, false);
    return opening;
  }

  async function cast(source, from, to, given) {
    const { device = 'cpu', elements, options } = checked(given);
    const own = bytesOf(source);
    addressable(own.bytes.length);
    // Before the copy, which can take long.
    if (device === 'gpu') reachable();
    // Only a cast on the CPU reads the array before this function returns, and only where nothing is to be loaded.
    const array = whole.loaded && device === 'cpu' ? own : kept(own);
    const module = whole.loaded ?? await whole();
    const [type, target] = [named(module, from), named(module, to)];
    suitable(array, type);
    const { bytes } = array;
    const length = elements ?? Math.floor((bytes.length * 8) / type.bits);
    const result = device === 'gpu'
      ? await (await gpu(module)).cast(type.name, bytes, length, target.name, options)
      : module.castOnCpu(type.name, bytes, length, target.name, options);
    const made = result.bytes;
    const losses = JSON.parse(result.losses);
    result.free();
    const Typed = ARRAYS[target.name] ?? Uint8Array;
    return { data: new Typed(made.buffer, made.byteOffset, made.byteLength / Typed.BYTES_PER_ELEMENT), losses };
  }

  async function selfTest(given) {
    const { device = 'cpu', thorough = false, every, progress, signal } = settings(given);
    const own = isDevice(device);
    const module = await whole();
    if (own) await planning();
    const opened = device === 'gpu' ? await open(module, true) : undefined;
    const verifier = new module.Verifier(thorough, every);
    const next = () => (own ? casts(device, verifier) : opened ? verifier.nextOnGpu(opened) : verifier.nextOnCpu());
    try {
      for (;;) {
        signal?.throwIfAborted();
        const more = await next();
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

  /** A function of the small module, which is loaded first. `read` reads what a caller could change in the meantime. */
  const planned = (call, read = (...given) => given) => async (...given) => {
    const own = read(...given);
    if (!planning.loaded) await planning();
    return call(...own);
  };

  return {
    cast,
    selfTest,
    createCaster: planned((device, read) => new Caster(device, read), (device, given) => [device, settingsOf(device, given)]),
    plan: planned(plan, planGiven),
    functions: planned((prefix, values) => new Functions(prefix, values), functionsGiven),
    castGpu: planned(castGpu, (...given) => {
      const read = castGpuGiven(...given);
      return [planning.loaded ? read : keeping(read)];
    }),
    packedBytes: planned(packedBytesOf),
    elementTypes: planned(elementTypes),
    version: planned(version),
  };
}
