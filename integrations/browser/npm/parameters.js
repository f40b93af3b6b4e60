// The parameters of dispatches, in uniform buffers that are written where they are mapped at creation, so that no queue is needed.

import { UNIFORM } from './flags.js';

/** The most bytes of a buffer with several blocks. A cast that is bound keeps its buffers alive, and so does what it was prepared as. */
const MOST_BYTES = 16 << 10;

/** A buffer with blocks. It takes further ones until it is sealed, which makes it usable in a submission. */
class Arena {
  #bytes;
  #used = 0;

  constructor(device, size) {
    this.buffer = device.createBuffer({ label: 'cast parameters', size, usage: UNIFORM, mappedAtCreation: true });
    this.#bytes = new Uint8Array(this.buffer.getMappedRange());
  }

  /** The offset of a block that is added, if there is room. */
  add(block, stride) {
    if (!this.#bytes || this.#used + block.length > this.#bytes.length) return undefined;
    const offset = this.#used;
    this.#bytes.set(block, offset);
    this.#used += stride;
    return offset;
  }

  seal() {
    if (!this.#bytes) return;
    this.#bytes = undefined;
    this.buffer.unmap();
  }
}

/** The blocks of the casts of a device that are bound. Equal blocks are one. */
export class Parameters {
  #device;
  #alignment;
  #places = new Map();
  #open;
  #used = 0;
  #gone = new FinalizationRegistry((keys) => {
    for (const key of keys) if (!this.#places.get(key)?.arena.deref()) this.#places.delete(key);
  });
  #keys = new WeakMap();

  constructor(device) {
    this.#device = device;
    this.#alignment = device.limits.minUniformBufferOffsetAlignment;
  }

  /** The buffer that holds a block, and where. */
  get(block) {
    const key = String.fromCharCode.apply(null, new Uint16Array(block.buffer, block.byteOffset, block.length / 2));
    const place = this.#places.get(key);
    const there = place?.arena.deref();
    if (there) return { arena: there, offset: place.offset };
    const stride = Math.ceil(block.length / this.#alignment) * this.#alignment;
    let arena = this.#open?.deref();
    let offset = arena?.add(block, stride);
    if (offset === undefined) {
      // Twice what the last one took before it was full or sealed: few buffers where many casts are bound before the first is
      // recorded, and small ones where each is recorded at once.
      arena = new Arena(this.#device, Math.max(Math.min(2 * this.#used, MOST_BYTES), stride));
      offset = arena.add(block, stride);
      this.#open = new WeakRef(arena);
      this.#used = 0;
      const keys = [];
      this.#keys.set(arena, keys);
      this.#gone.register(arena, keys);
    }
    this.#used += stride;
    this.#keys.get(arena).push(key);
    this.#places.set(key, { arena: new WeakRef(arena), offset });
    return { arena, offset };
  }
}
