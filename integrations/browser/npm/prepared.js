// Casts that are planned, and casts that are bound to buffers.

import { wrong } from './arguments.js';
import { SHARED, dispatchesOf, planned } from './plans.js';
import { covered, placesOf, sliceOf, together } from './slices.js';

/** A planned cast of a number of elements. */
export class Prepared {
  #maker;
  #cast;
  /** The places of the last plan, and what each of its dispatches needs besides buffers. */
  #places;
  #dispatches;
  #steps;

  constructor(maker, cast, places, dispatches) {
    this.#maker = maker;
    this.#cast = cast;
    this.#places = places;
    this.#dispatches = dispatches;
  }

  get from() { return this.#cast.from; }

  get to() { return this.#cast.to; }

  get elements() { return this.#cast.layout.elements; }

  get sourceBytes() { return this.#cast.sizes[0]; }

  get destinationBytes() { return this.#cast.sizes[1]; }

  /** Checks both slices, and makes the bind groups and the parameters. */
  bind(source, destination) {
    // Most binds of a cast differ only in their buffers, and planning takes longer than making a bind group.
    const from = covered(this.#places, 0, source);
    const to = covered(this.#places, 1, destination);
    if (from && to && (from === to) === together(this.#places)) return this.#bound(from, to);
    const slices = [sliceOf('source', source), sliceOf('destination', destination)];
    this.#plan(placesOf(slices, this.#cast.sizes));
    return this.#bound(slices[0].buffer, slices[1].buffer);
  }

  /** Plans the cast for other places. */
  #plan(places) {
    const { code, layout } = this.#cast;
    this.#dispatches = dispatchesOf(planned(this.#maker.planner, code, layout, places));
    this.#places = places;
    this.#steps = undefined;
  }

  #bound(source, destination) {
    this.#steps ??= this.#dispatches.map((dispatch) => this.#step(dispatch));
    const { device } = this.#maker;
    const { label } = this.#cast;
    const groups = [];
    for (const step of this.#steps) groups.push(device.createBindGroup(descriptor(step, source, destination, label)));
    return new Bound(this.#steps, groups, label);
  }

  /** A dispatch with its pipeline and its parameters. */
  #step(dispatch) {
    const { kernels, parameters } = this.#maker;
    const { arena, offset } = parameters.get(dispatch.parameters);
    return {
      ...dispatch,
      pipeline: kernels.pipeline(dispatch, this.#cast),
      layout: kernels.layout(dispatch.access),
      arena,
      parameters: { binding: 4, resource: { buffer: arena.buffer, offset, size: dispatch.parameters.length } },
    };
  }
}

/** The bind group of a dispatch. */
function descriptor({ access, source, destination, parameters, layout }, from, to, label) {
  const written = { binding: 1, resource: { buffer: to, offset: destination.offset, size: destination.size } };
  const entries = access === SHARED
    ? [written, parameters]
    : [{ binding: 0, resource: { buffer: from, offset: source.offset, size: source.size } }, written, parameters];
  // A label only if the caller gave one: it takes a part of the time of a bind group.
  return label === undefined ? { layout, entries } : { label, layout, entries };
}

/** A cast that is bound to its buffers. */
class Bound {
  #steps;
  #groups;
  #label;
  #sealed = false;

  constructor(steps, groups, label) {
    this.#steps = steps;
    this.#groups = groups;
    this.#label = label;
  }

  /** Makes the parameters usable in a submission. */
  #seal() {
    if (this.#sealed) return;
    for (const { arena } of this.#steps) arena.seal();
    this.#sealed = true;
  }

  /** Each dispatch, for engines that record themselves. They run in order, as in one compute pass. */
  get dispatches() {
    this.#seal();
    return this.#steps.map(({ pipeline, x, y }, index) => ({ pipeline, bindGroup: this.#groups[index], workgroups: [x, y, 1] }));
  }

  /** Records the cast in a compute pass of its own. */
  record(encoder) {
    if (typeof encoder?.beginComputePass !== 'function') throw wrong('encoder', 'a GPUCommandEncoder', encoder);
    if (this.#steps.length === 0) return;
    const pass = encoder.beginComputePass(this.#label === undefined ? undefined : { label: this.#label });
    this.recordInPass(pass);
    pass.end();
  }

  /** Records the cast in the caller's compute pass, which loses its pipeline and bind group 0. */
  recordInPass(pass) {
    if (typeof pass?.dispatchWorkgroups !== 'function') throw wrong('pass', 'a GPUComputePassEncoder', pass);
    this.#seal();
    let set;
    for (let index = 0; index < this.#steps.length; index += 1) {
      const { pipeline, x, y } = this.#steps[index];
      if (pipeline !== set) pass.setPipeline(pipeline);
      set = pipeline;
      pass.setBindGroup(0, this.#groups[index]);
      pass.dispatchWorkgroups(x, y);
    }
  }
}
