// Plans of casts: what crosses between JavaScript and the small module, and how it is read here.

import * as module from './wgpu_cast_web_plans.js';
import { OPTIONS, bytes as byteCount, castOptions, choice, count, known, numbers, object } from './arguments.js';
import { called } from './thrown.js';
import { typeNamed } from './types.js';

let types;

/** The types by their numbers in the module. */
function all() {
  types ??= module.elementTypes().split('\n').map((line, number) => {
    const [name, bits, float, ...aliases] = line.split(' ');
    return { name, bits: Number(bits), float: float === 'float', aliases: aliases.filter(Boolean), number };
  });
  return types;
}

/** Types by the names as given: looking a name up takes longer than planning. */
const names = new Map();

/** The type of a name. */
export function named(name) {
  let type = names.get(name);
  if (!type) {
    type = typeNamed(all(), name);
    names.set(name, type);
  }
  return type;
}

/** The packed bytes of so many elements. */
export function packedBytes(type, elements) {
  return module.packedBytes(type.number, elements);
}

/** The types that are packed: all but strings. */
function numeric() {
  return all().filter(({ bits }) => bits > 0);
}

/** The packed bytes of so many elements of a type by its name. */
export function packedBytesOf(name, elements) {
  return packedBytes(typeNamed(numeric(), name), count('elements', elements));
}

/** All numeric types, for programs. */
export function elementTypes() {
  return numeric().map(({ name, aliases, bits, float }) => ({ name, aliases: [...aliases], bits, float }));
}

/** The version of wgpu-cast. */
export function version() {
  return module.version();
}

/** The options as bits; `plans/src/lib.rs` says which. */
export function optionBits(options) {
  const { saturate = true, roundMode, int4Overflow, float4Nan } = options;
  return (saturate ? 0 : 1) | (roundMode === 'down' ? 2 : 0) | (roundMode === 'nearest' ? 4 : 0)
    | (int4Overflow === 'clamp' ? 8 : 0) | (float4Nan === 'max' ? 16 : 0);
}

/** The types and options of a cast as one number. */
export function castCode(from, to, bits) {
  return from.number | (to.number << 8) | (bits << 16);
}

/** What every WebGPU device supports. */
const LEAST = {
  maxBufferSize: 268_435_456,
  maxStorageBufferBindingSize: 134_217_728,
  minStorageBufferOffsetAlignment: 256,
  maxComputeWorkgroupsPerDimension: 65_535,
};

/** Limits of a caller. One that is missing is that in `least`. */
export function limitsOf(given, least = LEAST) {
  object('limits', given);
  // An object that has all of them, such as a device's limits, has no misspelt one.
  if (Object.keys(LEAST).some((key) => given[key] === undefined)) known('limits', given, Object.keys(LEAST));
  return limitsIn('limits', given, least);
}

/** Limits of a device. Such objects have others too. */
export function deviceLimits({ limits }) {
  object('device.limits', limits);
  return limitsIn('device.limits', limits, LEAST);
}

function limitsIn(name, given, least) {
  const limit = (key) => (given[key] === undefined ? least[key] : byteCount(`${name}.${key}`, given[key]));
  return Object.fromEntries(Object.keys(LEAST).map((key) => [key, limit(key)]));
}

/** The smaller limits. */
export function within(limits, own) {
  const pick = (key) => (key.startsWith('min') ? Math.max : Math.min)(limits[key], own[key]);
  return Object.fromEntries(Object.keys(own).map((key) => [key, pick(key)]));
}

/** What suits software adapters and what suits GPUs, with what is given instead. */
export function tuningOf(given = {}, software = false) {
  object('tuning', given);
  known('tuning', given, ['dispatchElements', 'blocksFrom', 'lookup']);
  const { dispatchElements = Infinity, blocksFrom = software ? 8192 : undefined, lookup = software ? 'computed' : 'table' } = given;
  if (dispatchElements !== Infinity) count('tuning.dispatchElements', dispatchElements);
  if (blocksFrom !== undefined && blocksFrom !== Infinity) count('tuning.blocksFrom', blocksFrom);
  choice('tuning.lookup', ['table', 'computed'], lookup);
  return { dispatchElements, blocksFrom, lookup };
}

/** A planner of the module, which numbers the kernels that it plans with. */
export function newPlanner(limits, { dispatchElements, blocksFrom = NaN, lookup }) {
  return new module.Planner(Float64Array.of(...Object.values(limits)), dispatchElements, blocksFrom, lookup === 'table');
}

/** The elements of a cast: a number, or a view with a shape and strides. */
export function layoutOf(given) {
  if (typeof given !== 'object' || given === null) return { elements: count('elements', given) };
  known('the view', given, ['shape', 'sourceStrides', 'destinationStrides']);
  const shape = numbers('shape', given.shape);
  shape.forEach((size, axis) => count(`shape[${axis}]`, size));
  const strides = (name) => (given[name] === undefined ? undefined : numbers(name, given[name]));
  return {
    // A product that is too large is refused by the module.
    elements: shape.reduce((product, size) => product * size, 1),
    shape, sourceStrides: strides('sourceStrides'), destinationStrides: strides('destinationStrides'),
  };
}

/** Plans a cast. `places` is what `plans/src/planner.rs` says. Returns the bytes of the plan. */
export function planned(planner, code, { elements, shape, sourceStrides, destinationStrides }, places) {
  return called(() => (shape
    ? planner.planView(code, shape, sourceStrides, destinationStrides, places)
    : planner.plan(code, elements, places)));
}

/** The numbers of elements from the lowest to the highest on both sides. */
export function extents(code, { elements, shape, sourceStrides, destinationStrides }) {
  return shape ? called(() => module.extents(code, shape, sourceStrides, destinationStrides)) : [elements, elements];
}

/** The numbers of each dispatch before the bytes of its parameters. */
const HEAD = 9;

/** The dispatches of a plan: the number of the kernel, the workgroups, how it binds, the ranges that it binds, and its parameters. */
export function dispatchesOf(bytes) {
  const head = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const dispatches = [];
  // Every dispatch has parameters; what follows the last one has none.
  for (let at = 0; head[at + HEAD - 1] > 0;) {
    const [length, start] = [head[at + HEAD - 1], (at + HEAD) * 8];
    dispatches.push({
      kernel: head[at], x: head[at + 1], y: head[at + 2], access: head[at + 3],
      source: { offset: head[at + 4], size: head[at + 5] }, destination: { offset: head[at + 6], size: head[at + 7] },
      parameters: bytes.subarray(start, start + length),
    });
    at += HEAD + length / 8;
  }
  return dispatches;
}

/** Invocations in the largest workgroup of a kernel. */
export function mostInvocations() {
  return module.mostInvocations();
}

/** How a dispatch binds. */
export const [READ_ONLY, WRITABLE, SHARED] = [0, 1, 2];

/** Planners by their settings, for `plan`. The oldest goes where there are many. */
const planners = new Map();
const MOST_PLANNERS = 8;

function plannerOf(limits, tuning) {
  const key = JSON.stringify([limits, tuning]);
  let found = planners.get(key);
  if (!found) {
    if (planners.size >= MOST_PLANNERS) {
      const [oldest, { planner }] = planners.entries().next().value;
      planners.delete(oldest);
      planner.free();
    }
    found = { planner: newPlanner(limits, tuning), texts: [] };
    planners.set(key, found);
  }
  return found;
}

const BUFFERS = ['two', 'one', 'allocations'];

/** The numbers of a placement. */
function placementOf(given = {}) {
  object('placement', given);
  known('placement', given, ['source', 'destination', 'buffers']);
  const places = new Float64Array(12);
  ['source', 'destination'].forEach((side, index) => {
    const place = given[side] ?? {};
    object(`placement.${side}`, place);
    known(`placement.${side}`, place, ['offset', 'first']);
    const { offset = 0, first } = place;
    places[5 * index] = byteCount(`placement.${side}.offset`, offset);
    places[5 * index + 1] = first === undefined ? -1 : count(`placement.${side}.first`, first);
  });
  places[10] = BUFFERS.indexOf(choice('placement.buffers', BUFFERS, given.buffers ?? 'two'));
  return places;
}

/** What `plan` is given, read before the module is waited for. */
export function planGiven(from, to, elements, given = {}) {
  object('options', given);
  known('the options', given, ['limits', 'tuning', 'placement', ...OPTIONS]);
  const { limits = {}, tuning, placement } = given;
  const bits = optionBits(castOptions(given));
  return [from, to, layoutOf(elements), { bits, places: placementOf(placement), limits: limitsOf(limits), tuning: tuningOf(tuning) }];
}

/** A cast as data. */
export function plan(from, to, layout, { bits, places, limits, tuning }) {
  const code = castCode(named(from), named(to), bits);
  const { planner, texts } = plannerOf(limits, tuning);
  const kernels = new Map();
  const dispatches = dispatchesOf(planned(planner, code, layout, places)).map(({ kernel, x, y, access, source, destination, parameters }) => {
    if (!kernels.has(kernel)) kernels.set(kernel, kernels.size);
    const bindings = [
      { binding: 0, side: 'source', ...source, readOnly: access === READ_ONLY },
      { binding: 1, side: 'destination', ...destination, readOnly: false },
    ];
    return {
      kernel: kernels.get(kernel), workgroups: [x, y, 1], parameters, bindings: access === SHARED ? bindings.slice(1) : bindings,
    };
  });
  const text = (number) => {
    texts[number] ??= planner.wgsl(number);
    return texts[number];
  };
  return { kernels: [...kernels.keys()].map(text), dispatches };
}
