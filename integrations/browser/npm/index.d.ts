// The types of WebGPU come with TypeScript or with @webgpu/types, where a program has them. These stand for them elsewhere.
declare global {
  interface GPUDevice {}
  interface GPUBuffer { readonly size: number; readonly usage: number; }
  interface GPUBindGroup {}
  interface GPUComputePipeline {}
  interface GPUCommandEncoder {}
  interface GPUComputePassEncoder {}
}

/** The options of a cast. What is left out has ONNX's default. */
export interface Options {
  /** For float8 types: whether values out of range become the largest number instead of NaN or infinity. */
  saturate?: boolean;
  /** For float8e8m0. */
  roundMode?: 'up' | 'down' | 'nearest';
  /** Floats out of range for int4 and uint4. */
  int4Overflow?: 'wrap' | 'clamp';
  /** NaN as float4e2m1, which has none. */
  float4Nan?: 'zero' | 'max';
}

/** Options, and where `cast` casts. */
export interface CastOptions extends Options {
  /** Where to cast; the CPU unless said otherwise, which takes about as long as copying to a GPU and back. */
  device?: 'cpu' | 'gpu';
  /** The number of elements, where several numbers of elements have as many packed bytes. */
  elements?: number;
}

/** The values that the type cannot hold, by what became of them. */
export interface Losses {
  infinite: number;
  nan: number;
  saturated: number;
  out_of_range: number;
  zero: number;
  subnormal: number;
  nan_to_number: number;
}

export type TypedArray =
  | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array | Float32Array | Float64Array;

/** A Float16Array, where the program's TypeScript knows none. */
export interface Float16Codes extends ArrayBufferView {
  readonly BYTES_PER_ELEMENT: number;
  readonly [Symbol.toStringTag]: 'Float16Array';
}

/**
 * Casts packed codes of one element type to another: `cast(new Float32Array([1, 2]), 'float', 'float8e4m3fn')`.
 *
 * The result is a typed array of the type's elements. Of the narrow floats it holds their codes, in a Uint16Array for float16
 * and bfloat16; of all other types without a typed array the packed bytes, in a Uint8Array. `source` is that array, or bytes in a
 * Uint8Array or Uint8ClampedArray, or a Float16Array of float16. It is read before the call returns: it may be changed or transferred
 * at once.
 *
 * A wrong argument is a `TypeError` that names it, before anything is cast; other errors have the name of what went wrong, such as
 * `DeviceLost`. Both arrays must have less than 4 GiB (`ShapeOverflow`). In Node, `device: 'gpu'` is refused with `NoAdapter`.
 */
export function cast(source: TypedArray | Float16Codes, from: ElementTypeName, to: ElementTypeName, options?: CastOptions):
  Promise<{ data: TypedArray, losses: Losses }>;

export interface SelfTestState {
  pairs: number;
  done: number;
  casts: number;
  elements: number;
  mismatches: string[];
  /** The pair that comes next. */
  next: string | null;
  /** XXH3 of all results, in hexadecimal. */
  checksum: string;
}

/**
 * Casts difficult values of all pairs of types. On the GPU, compares the results with the CPU path; on the CPU, with an
 * independent implementation.
 */
export function selfTest(settings?: {
  /** On a device of yours, a caster casts the difficult values, and the test submits and maps buffers of its own. */
  device?: 'cpu' | 'gpu' | GPUDevice,
  /** All options, and except on a device of yours all kernels. */
  thorough?: boolean,
  /** Only each pair of this number, which is at least 1. */
  every?: number,
  progress?: (state: SelfTestState) => void,
  signal?: AbortSignal,
}): Promise<SelfTestState & { equal: boolean }>;

/** The packed bytes of so many elements. */
export function packedBytes(type: ElementTypeName, elements: number): Promise<number>;

/** All numeric element types. */
export function elementTypes(): Promise<{ name: string, aliases: string[], bits: number, float: boolean }[]>;

/** The version of wgpu-cast. */
export function version(): Promise<string>;

/** An element type by its ONNX name or another: `float8e4m3fn`, `bf16`, `F8_E4M3`, `float32`. An unknown name is a `TypeError`. */
export type ElementTypeName = string;

/** Whole numbers, in an array. */
export type Integers = readonly number[] | TypedArray;

/**
 * The elements of a cast that do not follow one another: `i, j, …` is `i * strides[0] + j * strides[1] + …` elements after `0, 0, …`. A side
 * without strides is dense. Strides may be negative, and 0 in a source. A slice starts at the lowest element that is read or written.
 */
export interface View {
  shape: Integers;
  sourceStrides?: Integers;
  destinationStrides?: Integers;
}

/**
 * Limits of a device; `device.limits` has them. One that is missing is WebGPU's default, and for a caster the device's. An object that lacks one
 * has no other properties.
 */
export interface Limits {
  maxBufferSize?: number;
  maxStorageBufferBindingSize?: number;
  minStorageBufferOffsetAlignment?: number;
  maxComputeWorkgroupsPerDimension?: number;
}

/** How casts are planned within the limits. Nothing here changes a bit of a result. */
export interface Tuning {
  /** The most elements of a dispatch, for drivers that stop long ones. */
  dispatchElements?: number;
  /** The number of elements from which the main kernel is used; `Infinity` for never. */
  blocksFrom?: number;
  /** How kernels convert sources of at most 8 bits: by a table in workgroup memory, as suits GPUs, or each code. */
  lookup?: 'table' | 'computed';
}

/** A tensor in a buffer with the usage STORAGE. A buffer alone is a slice from its first byte on. */
export interface Slice {
  buffer: GPUBuffer;
  /** Bytes before the packed tensor: a multiple of the element's size, or any number for types narrower than a byte. */
  offset?: number;
  /** Bytes of the slice. If given, they must be those of the tensor, or those in whole words; of a part, at least those. */
  size?: number;
  /**
   * For a part of a larger tensor that starts at `offset`: the elements before it. All other bits of the larger tensor stay as they are. This
   * is `Source::part` and `Destination::part` in Rust; 0 also takes the start of a longer slice.
   */
  first?: number;
}

/** A dispatch of a bound cast. */
export interface BoundDispatch {
  pipeline: GPUComputePipeline;
  /** For group 0. */
  bindGroup: GPUBindGroup;
  workgroups: [number, number, number];
}

/** A cast that is bound to its buffers. It can be recorded any number of times, and keeps what recording needs. */
export interface Bound {
  /** The dispatches, for programs that record themselves. They run in order, as in one compute pass. */
  readonly dispatches: BoundDispatch[];
  /** Records the cast in a compute pass of its own. */
  record(encoder: GPUCommandEncoder): void;
  /** Records the cast in this compute pass, which loses its pipeline and bind group 0. */
  recordInPass(pass: GPUComputePassEncoder): void;
}

/**
 * A cast of a number of elements, planned and compiled. It can be bound any number of times. From the first `bind` on, it keeps the uniform
 * buffers with the parameters of the last plan, which may have up to 16 KiB and are shared with other casts; drop it to give them back.
 */
export interface Prepared {
  readonly from: string;
  readonly to: string;
  readonly elements: number;
  /** Packed bytes of the source; of a view from the lowest to the highest element that is read. */
  readonly sourceBytes: number;
  /** Packed bytes of the destination; of a view from the lowest to the highest element that is written. */
  readonly destinationBytes: number;
  /**
   * Checks both slices, and makes bind groups and parameters. Slices at multiples of 16 bytes of two buffers use the kernels of `prepare`;
   * others compile theirs when they are first bound. Both slices may lie in one buffer, and overlap as `Placement::one_buffer` in Rust says.
   * Throws `SliceError`, `OverlapError` or `LimitError`. What the device says goes to your error scopes.
   */
  bind(source: GPUBuffer | Slice, destination: GPUBuffer | Slice): Bound;
}

/** Casts on your device. It never submits, never maps, never uses the queue and sets no error scope. It keeps its pipelines. */
export interface Caster {
  readonly device: GPUDevice;
  readonly limits: Required<Limits>;
  readonly tuning: { dispatchElements: number, blocksFrom: number | undefined, lookup: 'table' | 'computed' };
  /**
   * Plans a cast and compiles its kernels. Browsers compile beside the program and tell a kernel that the device refuses in your error
   * scope. Throws `NoKernelError` for strings, `LimitError`, and `StridesError` for views.
   */
  prepare(from: ElementTypeName, to: ElementTypeName, elements: number | View, options?: Options & { label?: string }): Prepared;
  /** As `prepare`, when the kernels are compiled. A kernel that the device refuses is a `KernelError`. */
  prepareAsync(from: ElementTypeName, to: ElementTypeName, elements: number | View, options?: Options & { label?: string }):
    Promise<Prepared>;
}

/** Makes a caster for a device of any origin: a page's or a worker's, that of an engine, Dawn's in Node. Make one and keep it. */
export function createCaster(device: GPUDevice, settings?: { limits?: Limits, tuning?: Tuning }): Promise<Caster>;

/** Where a plan's tensor lies: bytes before it, and for a part of a larger tensor the elements before it. */
export interface Position {
  offset?: number;
  first?: number;
}

export interface PlannedBinding {
  /** The number in bind group 0. */
  binding: number;
  /** Whose buffer is bound. If both tensors are in one buffer, both sides mean that buffer. */
  side: 'source' | 'destination';
  offset: number;
  size: number;
  /** Whether the binding is `read-only-storage`; `storage` otherwise. */
  readOnly: boolean;
}

/** A cast as data, for programs that make all objects of the device themselves. The dispatches run in order. */
export interface Plan {
  /** WGSL with the entry point `main`. Equal kernels are the same string. */
  kernels: string[];
  dispatches: {
    /** The index in `kernels`. */
    kernel: number;
    workgroups: [number, number, number];
    /** The uniform buffer at binding 4. */
    parameters: Uint8Array;
    bindings: PlannedBinding[];
  }[];
}

/** Plans a cast. It needs no device. Throws as `Caster.prepare` and `Prepared.bind`; it knows no sizes of buffers. */
export function plan(from: ElementTypeName, to: ElementTypeName, elements: number | View, options?: Options & {
  limits?: Limits,
  tuning?: Tuning,
  placement?: {
    source?: Position,
    destination?: Position,
    /** In two buffers; in one; or in two allocations, which may be in one buffer. */
    buffers?: 'two' | 'one' | 'allocations',
  },
}): Promise<Plan>;

/** A function in WGSL. */
export interface WgslFunction {
  name: string;
  /** The types of the arguments, as WGSL writes them. */
  arguments: string[];
  /** The type of the result, if there is one. */
  result: string | undefined;
}

/** A table in workgroup memory, and its functions. */
export interface WgslTable {
  /** The name of the `var<workgroup>`. */
  variable: string;
  bytes: number;
  /** All invocations of a workgroup call it before the first look-up, with their local index and the workgroup's size. */
  fill: WgslFunction;
  lookUp: WgslFunction;
  /** For values: all of a word. */
  lookUpWord: WgslFunction | undefined;
}

/** An array of your module: the name of an `array<u32>`, or that of an `array<vec4<u32>>`. */
export type WgslArray = string | { vectors: string };

/**
 * Functions to splice into kernels of yours, under one prefix. Each method writes a function, unless it is written, and tells its name and
 * types. The documentation of `wgpu_cast::wgsl::Functions` says what each takes and gives. Throws `ElementWidthError`, `WgslNameError` and
 * `NoKernelError`.
 */
export interface Functions {
  /** The text of all functions that were asked for, without binding, entry point and directive. */
  readonly wgsl: string;
  readonly list: WgslFunction[];
  /** Code to code. */
  cast(from: ElementTypeName, to: ElementTypeName, options?: Options): WgslFunction;
  /** Codes to values: of one code, of four, of a word, of a `vec4<u32>`. */
  decode(from: ElementTypeName): WgslFunction;
  decodeFour(from: ElementTypeName): WgslFunction;
  decodeWord(from: ElementTypeName): WgslFunction;
  decodeVector(from: ElementTypeName): WgslFunction;
  /** Values to codes. */
  encode(to: ElementTypeName, options?: Options): WgslFunction;
  encodeFour(to: ElementTypeName, options?: Options): WgslFunction;
  encodeWord(to: ElementTypeName, options?: Options): WgslFunction;
  encodeVector(to: ElementTypeName, options?: Options): WgslFunction;
  /** A code of a word, and the word with another code. */
  lane(type: ElementTypeName): WgslFunction;
  withLane(type: ElementTypeName): WgslFunction;
  /** Elements of an array of your module, as codes and as values. */
  load(type: ElementTypeName, array: WgslArray): WgslFunction;
  loadValue(from: ElementTypeName, array: WgslArray): WgslFunction;
  store(type: ElementTypeName, array: WgslArray): WgslFunction;
  storeValue(to: ElementTypeName, array: WgslArray, options?: Options): WgslFunction;
  /** For an `array<atomic<u32>>` of this name. */
  storeAtomic(type: ElementTypeName, array: string): WgslFunction;
  /** Tables for sources of at most 8 bits. */
  castTable(from: ElementTypeName, to: ElementTypeName, options?: Options): WgslTable;
  decodeTable(from: ElementTypeName): WgslTable;
}

/** An empty set of functions. With values of `f16` your module begins with `enable f16;`. */
export function functions(prefix: string, settings?: { values?: 'f32' | 'f16' }): Promise<Functions>;

/**
 * One call for a cast on a device: makes the result's buffer (STORAGE, COPY_SRC, COPY_DST; in whole words), records and submits. Of a
 * buffer, slice or array without `elements`, all its elements are cast. An array is one that `cast` takes, and is read
 * before the call returns, too. Rejects as `Prepared.bind`, and with `KernelError`, `OutOfMemoryError`, `DeviceLostError` and `DeviceError`.
 */
export function castGpu(
  device: GPUDevice, source: GPUBuffer | Slice | TypedArray | Float16Codes, from: ElementTypeName, to: ElementTypeName,
  options?: Options & { elements?: number, label?: string },
): Promise<GPUBuffer>;

/** Any error of a caster, a plan, functions or `castGpu`. `name` is the word of Rust's enums, `message` Rust's text. */
export class CastError extends Error {
  /** The types of the cast, unless it is an error of a function or of a name. */
  readonly from?: string;
  readonly to?: string;
}
/** Strings have no kernel. */
export class NoKernelError extends CastError { readonly name: 'NoKernel'; }
export class LimitError extends CastError {
  readonly name: 'Limit';
  /** WebGPU's name of the limit in Rust, such as `max_buffer_size`, or the name of a constant of Rust. */
  readonly limit: string;
  readonly needed: number;
  readonly allowed: number;
}
export class SliceError extends CastError {
  readonly name: 'Slice';
  readonly side: 'source' | 'destination';
  readonly offset: number;
  readonly fault: 'alignment' | 'length' | 'outOfRange' | 'missingUsage';
  /** Of the fault `alignment`. */
  readonly alignment?: number;
  /** Of the fault `length`. */
  readonly expected?: number;
  readonly found?: number;
  /** Of the fault `outOfRange`. */
  readonly end?: number;
  readonly size?: number;
}
export class OverlapError extends CastError {
  readonly name: 'Overlap';
  /** Both ranges, in bytes. */
  readonly ranges: { side: 'source' | 'destination', start: number, end: number }[];
}
export class StridesError extends CastError {
  readonly name: 'Strides';
  /** The axis, unless the numbers of strides and axes differ. */
  readonly axis?: number;
}
/** The function takes narrower types only. */
export class ElementWidthError extends CastError {
  readonly name: 'ElementWidth';
  readonly elementType: string;
  readonly allowed: number;
}
/** The text is no name, or is taken for an array of other elements. */
export class WgslNameError extends CastError {
  readonly name: 'WgslName';
  readonly wgslName: string;
  readonly taken: boolean;
}
/** The device refused the kernel. `cause` is its error. */
export class KernelError extends CastError { readonly name: 'Kernel'; }
export class OutOfMemoryError extends CastError { readonly name: 'OutOfMemory'; }
export class DeviceLostError extends CastError { readonly name: 'DeviceLost'; }
/** What else the device says. `cause` is its error. */
export class DeviceError extends CastError { readonly name: 'Device'; }
