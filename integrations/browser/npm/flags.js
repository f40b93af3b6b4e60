// WebGPU's flags. Node has them in no global.

/** Usages of buffers. */
export const [MAP_READ, COPY_SRC, COPY_DST, UNIFORM, STORAGE] = [0x1, 0x4, 0x8, 0x40, 0x80];

/** The stage of a shader that sees a binding. */
export const COMPUTE = 0x4;

/** The mode of a map. */
export const READ = 0x1;
