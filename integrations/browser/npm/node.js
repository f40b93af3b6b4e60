// The package in Node, which reads the module from the disk. Casts run on the CPU: the module reaches a GPU through the globals of a
// page or a worker only, even where a program has put Dawn's `gpu` into `navigator`.

import { readFile } from 'node:fs/promises';

import init from './wgpu_cast_web.js';
import { api } from './api.js';

const module = new URL('wgpu_cast_web_bg.wasm', import.meta.url);

export const { cast, elementTypes, packedBytes, selfTest, version } =
  api(async () => init({ module_or_path: await readFile(module) }), { hasGpu: false });
