// The two WebAssembly modules: one for all that the CPU does, and one that can also use a GPU, which is loaded when it is needed.

async function load(glue) {
  const module = await import(glue);
  await module.default();
  return module;
}

/** The module without the GPU. */
export const cpu = load('./cpu/wgpu_cast_web.js');

/** @type {ReturnType<typeof load> | undefined} */
let whole;

/** The module with the GPU. If it cannot be loaded, the next call tries again. */
export function gpu() {
  whole ??= load('./gpu/wgpu_cast_web.js').catch((error) => {
    whole = undefined;
    throw error;
  });
  return whole;
}

/** The module for a device, `cpu` or `gpu`. */
export const moduleFor = (device) => (device === 'gpu' ? gpu() : cpu);
