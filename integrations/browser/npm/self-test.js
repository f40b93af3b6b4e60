// The self-test on the caller's device. The whole module has the difficult codes and compares; a caster casts.

import { lost, scoped } from './cast-gpu.js';
import { Caster, release } from './caster.js';
import { COPY_DST, COPY_SRC, MAP_READ, READ, STORAGE } from './flags.js';

const words = (bytes) => Math.max(4, Math.ceil(bytes / 4) * 4);

/** Casts the next pair of a verifier on a device, all options and tensors in one submission. Returns whether there was one. */
export async function casts(device, verifier) {
  const text = verifier.nextCasts();
  if (text === undefined) return false;
  const { from, to, casts: list } = JSON.parse(text);
  // A caster of its own, so that the pipelines of all pairs are not kept.
  const caster = new Caster(device);
  const [made, starts] = [[], []];
  const buffer = (size, usage, mappedAtCreation = false) => {
    made.push(device.createBuffer({ label: 'cast self-test', size: words(size), usage, mappedAtCreation }));
    return made.at(-1);
  };
  try {
    const prepared = await Promise.all(list.map(({ elements, options }) => caster.prepareAsync(from, to, elements, options)));
    const total = prepared.reduce((start, cast) => {
      starts.push(start);
      return start + words(cast.destinationBytes);
    }, 0);
    const staging = await scoped(device, { from, to }, () => {
      const back = buffer(total, MAP_READ | COPY_DST);
      const encoder = device.createCommandEncoder();
      const copies = prepared.map((cast, index) => {
        const source = buffer(cast.sourceBytes, STORAGE, true);
        const destination = buffer(cast.destinationBytes, STORAGE | COPY_SRC);
        new Uint8Array(source.getMappedRange()).set(verifier.source(index));
        source.unmap();
        return { bound: cast.bind(source, destination), destination, at: starts[index], size: words(cast.destinationBytes) };
      });
      copies.forEach(({ bound }) => bound.record(encoder));
      copies.forEach(({ destination, at, size }) => encoder.copyBufferToBuffer(destination, 0, back, at, size));
      device.queue.submit([encoder.finish()]);
      return back;
    });
    await staging.mapAsync(READ).catch((cause) => { throw lost(from, to, cause.message, cause); });
    const found = new Uint8Array(staging.getMappedRange());
    prepared.forEach((cast, index) => verifier.compare(index, found.slice(starts[index], starts[index] + cast.destinationBytes)));
  } finally {
    made.forEach((each) => each.destroy());
    release(caster);
  }
  return true;
}
