/** The options of a cast. What is left out has ONNX's default. */
export interface CastOptions {
  /** For float8 types: whether values out of range become the largest number instead of NaN or infinity. */
  saturate?: boolean;
  /** For float8e8m0. */
  roundMode?: 'up' | 'down' | 'nearest';
  /** Floats out of range for int4 and uint4. */
  int4Overflow?: 'wrap' | 'clamp';
  /** NaN as float4e2m1, which has none. */
  float4Nan?: 'zero' | 'max';
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

/**
 * Casts packed codes of one element type to another: `cast(new Float32Array([1, 2]), 'float', 'float8e4m3fn')`.
 *
 * The result is a typed array of the type's elements. Of the narrow floats it holds their codes, in a Uint16Array for float16
 * and bfloat16; of all other types without a typed array the packed bytes. `source` is that array, or bytes, or a Float16Array. A
 * wrong argument is a `TypeError` that names it, before any work; other errors have the name of what went wrong, such as
 * `DeviceLost`. In Node, `device: 'gpu'` is refused with `NoAdapter`.
 */
export function cast(source: TypedArray, from: string, to: string, options?: CastOptions):
  Promise<{ data: TypedArray, losses: Losses }>;

export interface SelfTestState {
  pairs: number;
  done: number;
  casts: number;
  elements: number;
  mismatches: string[];
  /** XXH3 of all results, in hexadecimal. */
  checksum: string;
}

/**
 * Casts difficult values of all pairs of types. On the GPU, compares the results with the CPU path; on the CPU, with an
 * independent implementation.
 */
export function selfTest(settings?: {
  device?: 'cpu' | 'gpu',
  /** All options and kernels. */
  thorough?: boolean,
  /** Only each pair of this number. */
  every?: number,
  progress?: (state: SelfTestState) => void,
  signal?: AbortSignal,
}): Promise<SelfTestState & { equal: boolean }>;

/** The packed bytes of so many elements. */
export function packedBytes(type: string, elements: number): Promise<number>;

/** All numeric element types. */
export function elementTypes(): Promise<{ name: string, aliases: string[], bits: number, float: boolean }[]>;

/** The version of wgpu-cast. */
export function version(): Promise<string>;
