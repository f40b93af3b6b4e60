// The kernels of a device: text, compiled pipelines, and the layouts of their bind groups.

import { KernelError, LimitError } from './errors.js';
import { COMPUTE } from './flags.js';
import { READ_ONLY, SHARED, mostInvocations } from './plans.js';
import { refused } from './thrown.js';

/** Binding 4 has the parameters. Bindings 0 and 1 are the tensors, each as `access` says. */
function layoutEntries(access) {
  const entry = (binding, type) => ({ binding, visibility: COMPUTE, buffer: { type } });
  const destination = [entry(1, 'storage'), entry(4, 'uniform')];
  return access === SHARED ? destination : [entry(0, access === READ_ONLY ? 'read-only-storage' : 'storage'), ...destination];
}

/** Compiles each kernel of a planner once. A kernel is a number of the planner. */
export class Kernels {
  #device;
  #planner;
  #layouts = [];
  #pipelines = [];
  /** Promises of the pipelines that the device was asked about. One that `pipeline` made may have no kernel. */
  #compiling = [];
  #compiled = new Set();

  constructor(device, planner) {
    this.#device = device;
    this.#planner = planner;
  }

  /** The layout of the bind groups. */
  layout(access) {
    this.#layouts[access] ??= this.#device.createBindGroupLayout({ label: 'cast', entries: layoutEntries(access) });
    return this.#layouts[access];
  }

  /** The pipeline of a dispatch's kernel. */
  pipeline({ kernel, access }, cast) {
    this.#pipelines[kernel] ??= this.#device.createComputePipeline(this.#descriptor(kernel, access, cast));
    return this.#pipelines[kernel];
  }

  /** Waits for the pipeline of a dispatch's kernel. It is compiled once, however many casts wait for it. */
  async compiled({ kernel, access }, cast) {
    this.#compiling[kernel] ??= this.#device.createComputePipelineAsync(this.#descriptor(kernel, access, cast)).then(
      (pipeline) => {
        this.#pipelines[kernel] = pipeline;
        this.#compiled.add(kernel);
      },
      (error) => {
        delete this.#compiling[kernel];
        delete this.#pipelines[kernel];
        throw refused(KernelError, cast.from, cast.to, `the device rejected the kernel: ${error.message}`, { cause: error });
      },
    );
    return this.#compiling[kernel];
  }

  /** Whether the device has told that the kernel is compiled. */
  isCompiled({ kernel }) {
    return this.#compiled.has(kernel);
  }

  #descriptor(kernel, access, { from, to }) {
    const { maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX } = this.#device.limits;
    const needed = mostInvocations();
    for (const [limit, allowed] of [
      ['max_compute_invocations_per_workgroup', maxComputeInvocationsPerWorkgroup],
      ['max_compute_workgroup_size_x', maxComputeWorkgroupSizeX],
    ]) {
      if (!(allowed < needed)) continue;
      const text = `casting ${from} to ${to} exceeds the limit ${limit}: ${needed} needed, ${allowed} allowed`;
      throw new LimitError(text, { from, to, limit, needed, allowed });
    }
    const label = `cast ${from}→${to}`;
    const module = this.#device.createShaderModule({ label, code: this.#planner.wgsl(kernel) });
    const layout = this.#device.createPipelineLayout({ label, bindGroupLayouts: [this.layout(access)] });
    return { label, layout, compute: { module, entryPoint: 'main' } };
  }
}
