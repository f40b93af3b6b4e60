// The package in Node, which reads the module from the disk. Node has no WebGPU of its own, so casts run on the CPU.

import { readFile } from 'node:fs/promises';

import init from './wgpu_cast_web.js';
import { api } from './api.js';

const module = new URL('wgpu_cast_web_bg.wasm', import.meta.url);

export const { cast, elementTypes, packedBytes, selfTest, version } =
  api(async () => init({ module_or_path: await readFile(module) }));
