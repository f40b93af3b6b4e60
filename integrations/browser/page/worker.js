// The worker: reads files, casts and verifies, so that the page stays responsive. Messages are { id, method, parameters };
// answers are { id, progress }, { id, result } or { id, error: { name, message } }.

import { bench } from './bench.js';
import { adapter, device, lose, withGpu } from './device.js';
import { foreign } from './foreign.js';
import { cpu, gpu, moduleFor } from './modules.js';

/** The calls that are to stop. */
const stopped = new Set();

/** Lets messages arrive, such as one to stop. */
const turn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

function stopIf(id) {
  if (stopped.has(id)) throw new DOMException('stopped', 'AbortError');
}

/** Reads a file at any place, at once. */
class FileAt {
  #file;
  #reader = new FileReaderSync();

  /** Why the browser could not read it. @type {DOMException | undefined} */
  fault;

  constructor(file) { this.#file = file; }

  get size() { return this.#file.size; }

  read(offset, bytes) {
    try {
      return new Uint8Array(this.#reader.readAsArrayBuffer(this.#file.slice(offset, offset + bytes)));
    } catch (error) {
      this.fault = new DOMException('the file was changed or moved since it was chosen. Choose it again.', 'NotReadableError');
      throw error;
    }
  }
}

/** A conversion of a file, of which only the header was read. */
async function opened({ file, format, from, to, options, device: route }) {
  const reader = new FileAt(file);
  try {
    const other = foreign(reader.read(0, 64));
    if (other) throw new DOMException(other, 'FileError');
    const { Conversion } = await moduleFor(route);
    return { reader, conversion: new Conversion(reader, format, from || undefined, to, options) };
  } catch (error) {
    throw reader.fault ?? error;
  }
}

/** Whether a file can be cast so. Throws why not. */
async function check(parameters) {
  (await opened({ ...parameters, device: 'cpu' })).conversion.free();
}

/** Where an output goes: to a file of the user's choice as it is made, or into a Blob, which browsers keep on the disk. */
async function output(handle) {
  if (!handle) {
    const parts = [];
    return {
      write: (bytes) => { parts.push(new Blob([bytes])); },
      close: () => new Blob(parts),
      abort: () => {},
    };
  }
  const writable = await handle.createWritable();
  return {
    write: (bytes) => writable.write(bytes),
    close: () => writable.close(),
    abort: async () => {
      await writable.abort();
      // What the browser made when the user chose the name.
      if ((await handle.getFile()).size === 0) await handle.remove?.();
    },
  };
}

/** The next slice of a conversion, on the GPU if that is asked for, and what is to be told about it. */
async function slice(conversion, settings, notes) {
  if (settings.device !== 'gpu' || notes.cpu || !conversion.nextIsForGpu) return conversion.next();
  for (const attempt of [1, 2]) {
    try {
      return await withGpu(settings.timeout, (open) => conversion.nextOnGpu(open));
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError || error.name === 'FileError') throw error;
      notes.told.push(`${error.name}: ${error.message}`);
      if (error.name !== 'DeviceLost' || attempt === 2) break;
      notes.told.push('The device was opened again, and the slice repeated.');
    }
  }
  notes.cpu = true;
  notes.told.push('The rest was cast on the CPU.');
  return conversion.next();
}

async function convert(parameters, { id, progress }) {
  const { device: route, handle, timeout } = parameters;
  const start = performance.now();
  const target = await output(handle);
  const notes = { cpu: false, told: [] };
  let open;
  try {
    open = await opened(parameters);
    const { conversion } = open;
    for (;;) {
      stopIf(id);
      const bytes = await slice(conversion, { device: route, timeout }, notes);
      if (!bytes) break;
      await target.write(bytes);
      progress({ written: conversion.written, bytes: conversion.bytes, notes: notes.told });
      await turn();
    }
    const blob = await target.close();
    return {
      blob: handle ? undefined : blob,
      bytes: conversion.written,
      tensors: JSON.parse(conversion.tensors),
      seconds: (performance.now() - start) / 1000,
      notes: notes.told,
    };
  } catch (error) {
    // That the output cannot be discarded is not what went wrong.
    await Promise.resolve(target.abort()).catch(() => {});
    throw open?.reader.fault ?? error;
  } finally {
    open?.conversion.free();
  }
}

async function verify({ thorough, device: route, every, timeout }, { id, progress }) {
  const start = performance.now();
  const { Verifier } = await moduleFor(route);
  const verifier = new Verifier(thorough, every);
  const state = () => ({ ...JSON.parse(verifier.state), seconds: (performance.now() - start) / 1000 });
  try {
    let told = 0;
    for (;;) {
      if (stopped.has(id)) return { ...state(), stopped: true };
      const more = route === 'gpu'
        ? await withGpu(timeout ?? 600, (open) => verifier.nextOnGpu(open), true)
        : verifier.nextOnCpu();
      if (!more) return state();
      if (performance.now() - told > 100) {
        told = performance.now();
        progress(state());
        await turn();
      }
    }
  } finally {
    verifier.free();
  }
}

/** Casts bytes. The tests call it, and programs that have the page's worker. */
async function cast({ bytes, from, elements, to, options, device: route, timeout }) {
  const result = route === 'gpu'
    ? await withGpu(timeout, (open) => open.cast(from, bytes, elements, to, options))
    : (await cpu).castOnCpu(from, bytes, elements, to, options);
  const { bytes: done, losses } = result;
  result.free();
  return { bytes: done, losses: JSON.parse(losses) };
}

const methods = {
  hello: async () => {
    const { version, elementTypes } = await cpu;
    return { version: version(), types: JSON.parse(elementTypes()) };
  },
  adapter,
  device,
  check,
  convert,
  verify,
  bench,
  cast,
  kernel: async ({ from, to, options, variant }) => (await cpu).kernel(from, to, options, variant),
  plan: async ({ from, to, elements, options }) => JSON.parse((await gpu()).plan(from, to, elements, options)),
  lose,
};

onmessage = async ({ data: { id, method, parameters } }) => {
  if (method === 'stop') {
    stopped.add(id);
    return;
  }
  const progress = (value) => postMessage({ id, progress: value });
  try {
    postMessage({ id, result: await methods[method](parameters, { id, progress, stopped: () => stopped.has(id), turn }) });
  } catch (error) {
    postMessage({ id, error: { name: error?.name ?? 'Error', message: error?.message ?? String(error) } });
  } finally {
    stopped.delete(id);
  }
};
