// What the tests on a device share, in Node and in browsers.

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

const told = (value) => JSON.stringify(value, (key, each) => (each === undefined ? 'undefined' : each));

export function equal(found, expected, message) {
  const [a, b] = [told(found), told(expected)];
  assert(a === b, `${message}: ${a}, expected ${b}`);
}

/** Compares bytes. */
export function same(found, expected, message) {
  equal(found.length, expected.length, `${message}: bytes`);
  const at = found.findIndex((byte, index) => byte !== expected[index]);
  assert(at < 0, `${message}: byte ${at} is ${found[at]}, expected ${expected[at]}`);
}

/** The error of a call, as its class, name and text. */
export async function thrown(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error(`no error: ${call}`);
}

export const [MAP_READ, COPY_SRC, COPY_DST, UNIFORM, STORAGE] = [0x1, 0x4, 0x8, 0x40, 0x80];

/** Bytes that differ from place to place, the same each time. */
export function noise(bytes, seed = 1) {
  let state = (0x2545f491 * seed) | 1;
  return Uint8Array.from({ length: bytes }, () => {
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    return state & 0xff;
  });
}

/** A buffer with bytes, in whole words. */
export function filled(device, bytes, usage = STORAGE | COPY_SRC | COPY_DST) {
  const buffer = device.createBuffer({ size: Math.ceil(bytes.length / 4) * 4, usage, mappedAtCreation: true });
  new Uint8Array(buffer.getMappedRange()).set(bytes);
  buffer.unmap();
  return buffer;
}

/** Records, submits and reads a buffer. */
export async function after(device, buffer, record) {
  const back = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  record(encoder);
  encoder.copyBufferToBuffer(buffer, 0, back, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await back.mapAsync(1);
  const bytes = new Uint8Array(back.getMappedRange()).slice();
  back.destroy();
  return bytes;
}

/** The packed bytes of a cast by the CPU path. */
export async function onCpu(web, bytes, from, to, options) {
  const { data } = await web.cast(bytes, from, to, options);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** What a caster may use of a device. */
const ALLOWED = [
  'limits', 'adapterInfo', 'createBuffer', 'createBindGroup', 'createBindGroupLayout', 'createPipelineLayout', 'createShaderModule',
  'createComputePipeline', 'createComputePipelineAsync',
];

/** A device that refuses all else, and counts the calls. Its buffers refuse to be mapped again. */
export function watched(device) {
  const calls = {};
  const proxy = new Proxy(device, {
    get(target, name) {
      if (!ALLOWED.includes(name)) throw new Error(`the package uses ${String(name)} of the device`);
      const value = target[name];
      if (typeof value !== 'function') return value;
      return (...given) => {
        calls[name] = (calls[name] ?? 0) + 1;
        const made = value.apply(target, given);
        if (name === 'createBuffer') {
          equal([given[0].usage, given[0].mappedAtCreation], [UNIFORM, true], 'usage of a buffer of the package');
          made.mapAsync = () => { throw new Error('the package maps a buffer'); };
        }
        return made;
      };
    },
    set(target, name) {
      throw new Error(`the package sets ${String(name)} of the device`);
    },
  });
  return { device: proxy, calls };
}

/** The device, with other properties. */
export function changed(device, properties) {
  return new Proxy(device, {
    get(target, name) {
      if (Object.hasOwn(properties, name)) return properties[name];
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A device, and the buffers for tensors that were made by it and are not destroyed. */
export function counted(device) {
  const live = new Set();
  const createBuffer = (descriptor) => {
    const buffer = device.createBuffer(descriptor);
    if (descriptor.usage & STORAGE) live.add(buffer);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      live.delete(buffer);
      destroy();
    };
    return buffer;
  };
  return { device: changed(device, { createBuffer }), live };
}
