// The package in a browser: the module is loaded from the address of this file, which bundlers resolve.

import init from './wgpu_cast_web.js';
import { api } from './api.js';

export const { cast, elementTypes, packedBytes, selfTest, version } = api(() => init());
