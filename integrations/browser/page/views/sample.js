// A small file to try the page with.

/** 1,000 floats, from those that any type holds to those that few do, in a `.npy` file. */
export function sample() {
  const values = Float32Array.from({ length: 1000 }, (_, index) => Math.sin(index) * 10 ** (index % 20 - 10));
  values.set([0, -0, 1, 448, 65_504, Infinity, -Infinity, NaN]);
  const dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }".padEnd(117);
  const header = Uint8Array.from(`\x93NUMPY\x01\x00v\x00${dictionary}\n`, (letter) => letter.charCodeAt(0));
  return new File([header, values], 'sample.npy');
}
