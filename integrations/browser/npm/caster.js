// Casts between buffers on the caller's device. Nothing here submits, maps, or uses the queue, and no error scope is set: what a device
// says of a call goes to the caller's scopes.

import { bytes as byteCount, castOptions, count, isBuffer, known, object, wrong } from './arguments.js';
import { KernelError, LimitError } from './errors.js';
import { Parameters } from './parameters.js';
import {
  OPTIONS, READ_ONLY, SHARED, castCode, eachDispatch, extents, layoutOf, limitsOf, named, newPlanner, optionBits, packedBytes, planned,
  tuningOf, within,
} from './plans.js';
import { refused } from './thrown.js';

// Node has the flags of WebGPU in no global.
const [STORAGE, COMPUTE] = [0x80, 0x4];

/** Invocations in the largest workgroup of a kernel. */
const INVOCATIONS = 256;

/** Binding 4 has the parameters. Bindings 0 and 1 are the tensors, each as `access` says. */
function layoutEntries(access) {
  const entry = (binding, type) => ({ binding, visibility: COMPUTE, buffer: { type } });
  const destination = [entry(1, 'storage'), entry(4, 'uniform')];
  return access === SHARED ? destination : [entry(0, access === READ_ONLY ? 'read-only-storage' : 'storage'), ...destination];
}

/** Casts on one device. It keeps the pipelines. */
export class Caster {
  #device;
  #planner;
  #parameters;
  #layouts = [];
  #pipelines = [];
  #compiling = [];

  constructor(device, given = {}) {
    if (typeof device?.createComputePipeline !== 'function') throw wrong('device', 'a GPUDevice', device);
    object('options', given);
    known('the options', given, ['limits', 'tuning']);
    const { limits = {}, tuning } = given;
    object('limits', limits);
    const own = limitsOf(device.limits, 'device.limits');
    this.#device = device;
    this.limits = Object.freeze(within(limitsOf({ ...own, ...limits }), own));
    this.tuning = Object.freeze(tuningOf(tuning, device.adapterInfo?.isFallbackAdapter === true));
    this.#planner = newPlanner(this.limits, this.tuning);
    this.#parameters = new Parameters(device);
  }

  get device() { return this.#device; }

  /** Plans a cast, and compiles the kernels that it has no pipelines of. */
  prepare(from, to, elements, options) {
    const cast = this.#cast(from, to, elements, options);
    cast.accesses.forEach((access, kernel) => this.#pipeline(kernel, access, cast));
    return this.#prepared(cast);
  }

  /** As `prepare`, and waits until the device has compiled the kernels. */
  async prepareAsync(from, to, elements, options) {
    const cast = this.#cast(from, to, elements, options);
    await Promise.all(Array.from(cast.accesses, ([kernel, access]) => this.#compiled(kernel, access, cast)));
    return this.#prepared(cast);
  }

  /** What of a cast does not depend on buffers, with how each of its kernels binds. */
  #cast(from, to, elements, options = {}) {
    object('options', options);
    known('the options', options, ['label', ...OPTIONS]);
    castOptions(options);
    const types = [named(from), named(to)];
    const cast = {
      from: types[0].name, to: types[1].name, code: castCode(...types, optionBits(options)), layout: layoutOf(elements),
      label: options.label, accesses: new Map(),
    };
    const lens = extents(cast.code, cast.layout);
    cast.sizes = types.map((type, side) => packedBytes(type, lens[side]));
    const bytes = planned(this.#planner, cast.code, cast.layout, NOWHERE);
    eachDispatch(bytes, (head, at) => cast.accesses.set(head[at], head[at + 3]));
    return cast;
  }

  #prepared(cast) {
    // Most binds of a cast differ only in their buffers, and planning takes longer than making a bind group.
    let last;
    return new Prepared(cast, (places, buffers) => {
      if (!last || !covers(last.places, places)) {
        last = { places, bytes: planned(this.#planner, cast.code, cast.layout, places) };
      }
      return new Bound(this.#commands(last.bytes, cast, buffers), cast.label);
    });
  }

  /** Waits for the pipeline of a kernel. It is compiled once, however many casts wait for it. */
  #compiled(kernel, access, cast) {
    this.#compiling[kernel] ??= this.#device.createComputePipelineAsync(this.#descriptor(kernel, access, cast)).then(
      (pipeline) => { this.#pipelines[kernel] = { pipeline, layout: this.#layout(access) }; },
      (error) => {
        delete this.#compiling[kernel];
        throw refused(KernelError, cast.from, cast.to, `the device rejected the kernel: ${error.message}`, { cause: error });
      },
    );
    return this.#compiling[kernel];
  }

  #layout(access) {
    this.#layouts[access] ??= this.#device.createBindGroupLayout({ label: 'cast', entries: layoutEntries(access) });
    return this.#layouts[access];
  }

  #descriptor(kernel, access, { from, to }) {
    const { maxComputeInvocationsPerWorkgroup: most, maxComputeWorkgroupSizeX: wide } = this.#device.limits;
    const allowed = Math.min(most, wide);
    if (allowed < INVOCATIONS) {
      const limit = 'max_compute_invocations_per_workgroup';
      const text = `casting ${from} to ${to} exceeds the limit ${limit}: ${INVOCATIONS} needed, ${allowed} allowed`;
      throw new LimitError(text, { from, to, limit, needed: INVOCATIONS, allowed });
    }
    const label = `cast ${from}→${to}`;
    const module = this.#device.createShaderModule({ label, code: this.#planner.wgsl(kernel) });
    const layout = this.#device.createPipelineLayout({ label, bindGroupLayouts: [this.#layout(access)] });
    return { label, layout, compute: { module, entryPoint: 'main' } };
  }

  /** The pipeline of a kernel, with its layout. */
  #pipeline(kernel, access, cast) {
    this.#pipelines[kernel] ??= {
      pipeline: this.#device.createComputePipeline(this.#descriptor(kernel, access, cast)),
      layout: this.#layout(access),
    };
    return this.#pipelines[kernel];
  }

  /** The commands of a plan between two buffers. */
  #commands(bytes, cast, [source, destination]) {
    const commands = [];
    eachDispatch(bytes, (head, at, block) => {
      const access = head[at + 3];
      const { pipeline, layout } = this.#pipeline(head[at], access, cast);
      const { arena, offset } = this.#parameters.get(block);
      const entries = [
        { binding: 1, resource: { buffer: destination, offset: head[at + 6], size: head[at + 7] } },
        { binding: 4, resource: { buffer: arena.buffer, offset, size: block.length } },
      ];
      if (access !== SHARED) {
        entries.push({ binding: 0, resource: { buffer: source, offset: head[at + 4], size: head[at + 5] } });
      }
      // A label only if the caller gave one: it takes a part of the time of a bind group.
      const label = cast.label === undefined ? {} : { label: cast.label };
      const bindGroup = this.#device.createBindGroup({ ...label, layout, entries });
      commands.push({ pipeline, bindGroup, x: head[at + 1], y: head[at + 2], arena });
    });
    return commands;
  }
}

/** The numbers of a placement at the start of two buffers, without checks. */
const NOWHERE = Float64Array.of(0, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0);

/** Whether the plan and the checks of known places hold for others: the same places, in slices and buffers that are as long or longer. */
function covers(known, places) {
  const holds = (at) => known[at] === places[at] && known[at + 1] === places[at + 1]
    && places[at + 3] >= known[at + 3] && places[at + 4] !== 0
    // A whole tensor's slice has one of two lengths.
    && (places[at + 1] < 0 ? places[at + 2] === known[at + 2] : places[at + 2] >= known[at + 2]);
  return known[10] === places[10] && holds(0) && holds(5);
}

/** A planned cast of a number of elements. */
class Prepared {
  #cast;
  #bind;

  constructor(cast, bind) {
    this.#cast = cast;
    this.#bind = bind;
  }

  get from() { return this.#cast.from; }

  get to() { return this.#cast.to; }

  get elements() { return this.#cast.layout.elements; }

  get sourceBytes() { return this.#cast.sizes[0]; }

  get destinationBytes() { return this.#cast.sizes[1]; }

  /** Checks both slices, and makes the bind groups and the parameters. */
  bind(source, destination) {
    const [places, sizes] = [new Float64Array(12), this.#cast.sizes];
    const buffers = [place('source', source, sizes[0], places, 0), place('destination', destination, sizes[1], places, 5)];
    if (buffers[0] === buffers[1]) places[10] = 1;
    places[11] = 1;
    return this.#bind(places, buffers);
  }
}

const SLICE = ['buffer', 'offset', 'size', 'first'];

/** Writes where one tensor lies to the numbers of both. Returns its buffer. */
function place(side, given, bytes, places, at) {
  if (isBuffer(given)) return place(side, { buffer: given }, bytes, places, at);
  if (typeof given !== 'object' || given === null) throw wrong(side, 'a GPUBuffer or a slice of one', given);
  for (const key in given) if (!SLICE.includes(key)) known(side, given, SLICE);
  const { buffer, offset = 0, size, first } = given;
  if (!isBuffer(buffer)) throw wrong(`${side}.buffer`, 'a GPUBuffer', buffer);
  const all = buffer.size;
  places[at] = byteCount(`${side}.offset`, offset);
  places[at + 1] = first === undefined ? -1 : count(`${side}.first`, first);
  // A whole tensor has its size; a part lies somewhere in the rest of the buffer.
  places[at + 2] = size === undefined ? (first === undefined ? bytes : all - offset) : byteCount(`${side}.size`, size);
  places[at + 3] = all;
  places[at + 4] = buffer.usage & STORAGE;
  return buffer;
}

/** A cast that is bound to its buffers. */
class Bound {
  #commands;
  #label;
  #sealed = false;

  constructor(commands, label) {
    this.#commands = commands;
    this.#label = label;
  }

  /** Makes the parameters usable in a submission. */
  #seal() {
    if (this.#sealed) return;
    for (const { arena } of this.#commands) arena.seal();
    this.#sealed = true;
  }

  /** Each dispatch, for engines that record themselves. They run in order, as in one compute pass. */
  get dispatches() {
    this.#seal();
    return this.#commands.map(({ pipeline, bindGroup, x, y }) => ({ pipeline, bindGroup, workgroups: [x, y, 1] }));
  }

  /** Records the cast in a compute pass of its own. */
  record(encoder) {
    if (typeof encoder?.beginComputePass !== 'function') throw wrong('encoder', 'a GPUCommandEncoder', encoder);
    if (this.#commands.length === 0) return;
    const pass = encoder.beginComputePass(this.#label === undefined ? undefined : { label: this.#label });
    this.recordInPass(pass);
    pass.end();
  }

  /** Records the cast in the caller's compute pass, which loses its pipeline and bind group 0. */
  recordInPass(pass) {
    if (typeof pass?.dispatchWorkgroups !== 'function') throw wrong('pass', 'a GPUComputePassEncoder', pass);
    this.#seal();
    let set;
    for (const { pipeline, bindGroup, x, y } of this.#commands) {
      if (pipeline !== set) pass.setPipeline(pipeline);
      set = pipeline;
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroups(x, y);
    }
  }
}
