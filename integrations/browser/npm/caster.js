// Casts between buffers on the caller's device. Nothing here submits, maps, or uses the queue, and no error scope is set: what a device
// says of a call goes to the caller's scopes.

import { OPTIONS, castOptions, isDevice, known, object, wrong } from './arguments.js';
import { Kernels } from './kernels.js';
import { Parameters } from './parameters.js';
import {
  castCode, deviceLimits, dispatchesOf, extents, layoutOf, limitsOf, named, newPlanner, optionBits, packedBytes, planned, tuningOf, within,
} from './plans.js';
import { Prepared } from './prepared.js';
import { startsOf } from './slices.js';

/** Frees the memory in the module of a caster that is not used any more. */
export let release;

/**
 * A prepared cast, or a promise of it where the device has not compiled all of its kernels. Arguments: a caster, and those of `prepareAsync`.
 */
export let preparing;

/** What a caster is made with. */
export function settingsOf(device, given = {}) {
  if (!isDevice(device)) throw wrong('device', 'a GPUDevice', device);
  object('options', given);
  known('the options', given, ['limits', 'tuning']);
  const { limits = {}, tuning } = given;
  const own = deviceLimits(device);
  return {
    limits: within(limitsOf(limits, own), own),
    tuning: tuningOf(tuning, device.adapterInfo?.isFallbackAdapter === true),
  };
}

/** Casts on one device. It keeps the pipelines. */
export class Caster {
  static {
    release = (caster) => caster.#maker.planner.free();
    preparing = (caster, ...given) => caster.#preparing(...given);
  }

  /** What makes the objects of the device: `device`, `planner`, `kernels`, `parameters`. */
  #maker;

  constructor(device, { limits, tuning } = settingsOf(device)) {
    this.limits = Object.freeze(limits);
    this.tuning = Object.freeze(tuning);
    const planner = newPlanner(this.limits, this.tuning);
    this.#maker = { device, planner, kernels: new Kernels(device, planner), parameters: new Parameters(device) };
  }

  get device() { return this.#maker.device; }

  /** Plans a cast, and compiles the kernels that it has no pipelines of. */
  prepare(from, to, elements, options) {
    const [cast, ...plan] = this.#planned(from, to, elements, options);
    plan[1].forEach((dispatch) => this.#maker.kernels.pipeline(dispatch, cast));
    return new Prepared(this.#maker, cast, ...plan);
  }

  /** As `prepare`, and waits until the device has compiled the kernels. */
  async prepareAsync(from, to, elements, options) {
    return this.#preparing(from, to, elements, options);
  }

  #preparing(from, to, elements, options) {
    const [cast, ...plan] = this.#planned(from, to, elements, options);
    const { kernels } = this.#maker;
    const prepared = () => new Prepared(this.#maker, cast, ...plan);
    if (plan[1].every((dispatch) => kernels.isCompiled(dispatch))) return prepared();
    return Promise.all(plan[1].map((dispatch) => kernels.compiled(dispatch, cast))).then(prepared);
  }

  /** What of a cast does not depend on buffers, and its plan for tensors at the start of two buffers: their places and the dispatches. */
  #planned(from, to, elements, options = {}) {
    object('options', options);
    known('the options', options, ['label', ...OPTIONS]);
    const { label } = options;
    const bits = optionBits(castOptions(options));
    const types = [named(from), named(to)];
    const [code, layout] = [castCode(...types, bits), layoutOf(elements)];
    const lens = extents(code, layout);
    const sizes = types.map((type, side) => packedBytes(type, lens[side]));
    const cast = { from: types[0].name, to: types[1].name, code, layout, sizes, label };
    const places = startsOf(sizes);
    return [cast, places, dispatchesOf(planned(this.#maker.planner, code, layout, places))];
  }
}
