// The package in a browser or a worker: each module is loaded when it is needed, from the address of this file, which bundlers resolve.

import { api } from './api.js';

export const {
  cast, castGpu, createCaster, elementTypes, functions, packedBytes, plan, selfTest, version,
} = api({ whole: (module) => module.default(), plans: (module) => module.default() });
export * from './errors.js';
