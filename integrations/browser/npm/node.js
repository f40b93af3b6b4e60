// The package in Node, which reads the modules from the disk. What takes a GPUDevice works with that of any implementation, such as the
// npm package `webgpu`. The function `cast` casts on the CPU: its module reaches a GPU through the globals of a page or a worker only, even
// where a program has put Dawn's `gpu` into `navigator`.

import { readFile } from 'node:fs/promises';

import { api } from './api.js';

const load = (name) => async (module) => module.default({ module_or_path: await readFile(new URL(name, import.meta.url)) });

export const {
  cast, castGpu, createCaster, elementTypes, functions, packedBytes, plan, selfTest, version,
} = api({ whole: load('wgpu_cast_web_bg.wasm'), plans: load('wgpu_cast_web_plans_bg.wasm') }, { hasGpu: false });
export * from './errors.js';
