// The other ways in: plans as data, functions in kernels of one's own, one call, and the self-test.

import { after, assert, changed, counted, equal, filled, onCpu, same, thrown, STORAGE, UNIFORM } from './tools.js';

function kernel(device, code) {
  return device.createComputePipeline({ layout: 'auto', compute: { module: device.createShaderModule({ code }), entryPoint: 'main' } });
}

/** Records a plan by hand, as an engine does that makes all objects itself. */
export async function plans({ web, device }) {
  const elements = 10_003;
  const values = Float32Array.from({ length: elements }, (_, index) => Math.tan(index));
  const planned = await web.plan('float', 'bfloat16', elements, {
    limits: device.limits, placement: { source: { offset: 256 }, destination: { offset: 6 } },
  });
  const again = await web.plan('float', 'bfloat16', elements, { placement: { destination: { offset: 6 } } });
  equal(again.kernels.every((text) => planned.kernels.includes(text)), true, 'kernels of the same cast elsewhere');
  const source = filled(device, new Uint8Array([...new Uint8Array(256), ...new Uint8Array(values.buffer)]));
  const destination = filled(device, new Uint8Array(6 + 2 * elements));
  const pipelines = planned.kernels.map((code) => kernel(device, code));
  const found = await after(device, destination, (encoder) => {
    const pass = encoder.beginComputePass();
    for (const { kernel: index, workgroups, parameters, bindings } of planned.dispatches) {
      const entries = bindings.map(({ binding, side, offset, size }) => (
        { binding, resource: { buffer: side === 'source' ? source : destination, offset, size } }
      ));
      entries.push({ binding: 4, resource: { buffer: filled(device, parameters, UNIFORM) } });
      pass.setPipeline(pipelines[index]);
      pass.setBindGroup(0, device.createBindGroup({ layout: pipelines[index].getBindGroupLayout(0), entries }));
      pass.dispatchWorkgroups(...workgroups);
    }
    pass.end();
  });
  const expected = await onCpu(web, values, 'float', 'bfloat16');
  same(found, new Uint8Array([0, 0, 0, 0, 0, 0, ...expected, ...new Uint8Array(found.length - 6 - expected.length)]), 'the destination');
  const { dispatches: [{ bindings }] } = await web.plan('float', 'float16', 8, { placement: { destination: { offset: 4096 }, buffers: 'one' } });
  equal(bindings, [{ binding: 1, side: 'destination', offset: 0, size: 4112, readOnly: false }], 'one binding over both tensors');
  const allocations = await web.plan('float', 'float16', 8, { placement: { buffers: 'allocations' } });
  equal(allocations.dispatches[0].bindings.map(({ readOnly }) => readOnly), [false, false], 'bindings of two allocations');
  const parts = await web.plan('float', 'float16', 1 << 20, { tuning: { dispatchElements: 1 << 16 } });
  equal(parts.dispatches.length, 16, 'dispatches of at most 65,536 elements');
  // More tunings than planners are kept.
  const tuned = [];
  for (const blocksFrom of [...Array(20).keys(), 0]) tuned.push((await web.plan('float', 'float16', 4096, { tuning: { blocksFrom } })).kernels.join());
  equal(tuned.every((text) => text === tuned[0] && text.includes('fn main(')), true, 'kernels by many planners');
  return `${planned.dispatches.length} dispatches recorded by hand`;
}

/** Types, packed bytes and the version need the small module only, which uses the memory of large plans again. */
export async function small({ web, file }) {
  equal(await web.packedBytes('int4', 3), 2, 'bytes of int4');
  const { api } = await file('api.js');
  const { packedBytes, elementTypes, version } = api({
    whole: () => { throw new Error('the whole module is loaded'); }, plans: (module) => module.default(),
  });
  equal([await packedBytes('float6e2m3', 5), await packedBytes('double', 2 ** 40), await version()], [4, 2 ** 43, await web.version()], 'bytes');
  await web.cast(Uint8Array.of(1), 'int8', 'uint8');
  const whole = JSON.parse((await file('wgpu_cast_web.js')).elementTypes());
  equal(await elementTypes(), whole.map(({ name, aliases, bits, float }) => ({ name, aliases, bits, float })), 'types');
  const { memory } = await (await file('wgpu_cast_web_plans.js')).default();
  const most = 65_536;
  for (let dispatches = 4096; dispatches <= most; dispatches += 4096) {
    const { length } = (await web.plan('float', 'float16', 4096 * dispatches, {
      limits: { maxBufferSize: 2 ** 32, maxStorageBufferBindingSize: 2 ** 32 }, tuning: { dispatchElements: 4096 },
    })).dispatches;
    equal(length, dispatches, 'dispatches');
  }
  assert(memory.buffer.byteLength <= 800 * most, `${memory.buffer.byteLength} bytes of memory after plans of at most ${120 * most}`);
  return `${memory.buffer.byteLength} bytes of memory after large plans`;
}

/** The values of all functions of a few types, compiled by the device. */
export async function functions({ web, device }) {
  const written = await web.functions('q');
  const decode = written.decodeWord('float8e4m3fn');
  equal(decode, { name: 'q_float8e4m3fn_to_f32x4', result: 'vec4<f32>', arguments: ['u32'] }, 'a function');
  const encode = written.encode('bfloat16');
  equal(written.encode('float8e4m3fn', { saturate: false }).name, 'q_f32_to_float8e4m3fn_unsaturated', 'a name with an option');
  equal(written.list.map(({ name }) => name), [
    decode.name, 'q_float_to_bfloat16', encode.name, 'q_float_to_float8e4m3fn_unsaturated', 'q_f32_to_float8e4m3fn_unsaturated',
  ], 'the list');
  for (const type of ['int4', 'float6e2m3', 'float16', 'uint8']) {
    for (const method of ['decode', 'decodeWord', 'decodeVector', 'encode', 'encodeWord', 'encodeVector', 'lane', 'withLane']) written[method](type);
    written.load(type, 'words');
    written.loadValue(type, 'words');
    written.store(type, 'others');
    written.storeValue(type, 'others', { int4Overflow: 'clamp' });
    written.storeAtomic(type, 'atomics');
    written.load(type, { vectors: 'fours' });
  }
  const table = written.decodeTable('float4e2m1');
  equal([table.variable, table.bytes, table.lookUpWord.result], ['q_float4e2m1_to_f32_table', 2048, 'array<vec4<f32>, 2>'], 'a table');
  equal(written.castTable('int4', 'float16').lookUp.name, 'q_int4_to_float16_look_up', 'a table of codes');
  equal((await web.functions('h', { values: 'f16' })).decode('int8').result, 'f16', 'values of f16');
  const codes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const [source, result] = [filled(device, codes), filled(device, new Uint8Array(1024))];
  const pipeline = kernel(device, `${written.wgsl}
    var<private> others: array<u32, 16>;
    var<private> fours: array<vec4<u32>, 16>;
    var<workgroup> atomics: array<atomic<u32>, 16>;
    @group(0) @binding(0) var<storage, read> words: array<u32>;
    @group(0) @binding(1) var<storage, read_write> values: array<vec4<u32>>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      values[id.x] = bitcast<vec4<u32>>(${decode.name}(words[id.x]));
    }`);
  const entries = [source, result].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const found = await after(device, result, (encoder) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
  });
  equal(found, await onCpu(web, codes, 'float8e4m3fn', 'float'), 'all values of float8e4m3fn');
  return `${written.list.length} functions in one kernel`;
}

/** One call for a cast, from an array, a buffer and a slice. */
export async function castGpu({ web, device }) {
  const values = Float32Array.of(1, 448, 465, NaN, -0);
  const narrow = await web.castGpu(device, values, 'float', 'float8e4m3fn');
  const wide = await web.castGpu(device, narrow, 'float8e4m3fn', 'float', { elements: 5 });
  const last = await web.castGpu(device, { buffer: narrow, offset: 1, size: 3 }, 'float8e4m3fn', 'float16');
  const read = async (buffer) => after(device, buffer, () => {});
  equal(await read(narrow), Uint8Array.of(0x38, 0x7e, 0x7e, 0x7f, 0x80, 0, 0, 0), 'codes of float8e4m3fn');
  equal(await read(wide), new Uint8Array(Float32Array.of(1, 448, 448, NaN, -0).buffer), 'their values');
  equal((await read(last)).subarray(0, 6), Uint8Array.of(0, 0x5f, 0, 0x5f, 0, 0x7e), 'a slice');
  const error = await thrown(() => web.castGpu(device, narrow, 'float8e4m3fn', 'float', { elements: 50 }));
  equal([error.name, error.message], ['Slice', 'casting float8e4m3fn to float: the source slice needs 50 bytes to hold the cast\'s elements, got 8'], 'too many elements');
  const part = await web.castGpu(device, { buffer: narrow, first: 1 }, 'float8e4m3fn', 'float16');
  equal(await read(part), Uint8Array.of(0, 0x5f, 0, 0x5f, 0, 0x7e, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0), 'the elements from the second on');
  const strings = await thrown(() => web.castGpu(device, narrow, 'string', 'int8'));
  equal([strings.name, strings.message], ['NoKernel', 'casting string to int8 is supported only on the CPU: strings have no GPU kernel'], 'strings');
  // What it has made and cannot hand over is destroyed.
  const { device: own, live } = counted(device);
  const short = await thrown(() => web.castGpu(own, values, 'float', 'int8', { elements: 6 }));
  equal([short.name, live.size], ['Slice', 0], 'buffers after a refused cast');
  const result = await web.castGpu(own, values, 'float', 'int8');
  equal([...live].map((buffer) => buffer === result), [true], 'buffers after a cast');
  const broken = changed(own, { createCommandEncoder: () => { throw new Error('no encoder'); } });
  equal([(await thrown(() => web.castGpu(broken, values, 'float', 'int8'))).message, live.size], ['no encoder', 1], 'buffers after an error');
  const createBuffer = (descriptor) => {
    const buffer = own.createBuffer(descriptor);
    if (descriptor.usage & STORAGE && descriptor.mappedAtCreation) buffer.getMappedRange = () => { throw new RangeError('no memory'); };
    return buffer;
  };
  const full = await thrown(() => web.castGpu(changed(own, { createBuffer }), values, 'float', 'int8'));
  equal([full.name, full.message, live.size], ['OutOfMemory', 'casting float to int8: out of memory', 1], 'buffers after contents without memory');
  const start = await web.castGpu(device, values, 'float', 'float8e4m3fn', { elements: 2 });
  equal(await read(start), Uint8Array.of(0x38, 0x7e, 0, 0), 'the start of an array');
  const inherited = await web.castGpu(device, Float32Array.of(1e9), 'float', 'float8e4m3fn', Object.create({ saturate: false }));
  equal((await read(inherited))[0], 0x7f, 'an inherited option');
  narrow.destroy();
  const destroyed = await thrown(() => web.castGpu(device, narrow, 'float8e4m3fn', 'float'));
  assert(destroyed instanceof web.DeviceError && destroyed.message.startsWith('casting float8e4m3fn to float: '), `${destroyed}`);
  return 'an array, a buffer, a slice';
}

/** An array and options are read before the call returns, whatever is waited for: the module, kernels, or nothing. */
export async function readAtOnce({ web, file, device }) {
  const { api } = await file('api.js');
  const fresh = api({ plans: (module) => module.default() });
  const codes = async ({ castGpu: call }, own) => {
    const [array, options] = [new Float32Array(1), {}];
    const results = [1e9, 1, 1e9].map((value, index) => {
      array[0] = value;
      options.saturate = index > 0;
      return call(own, array, 'float', 'float8e4m3fn', options);
    });
    structuredClone(array.buffer, { transfer: [array.buffer] });
    const found = [];
    for (const buffer of await Promise.all(results)) found.push((await after(device, buffer, () => {}))[0]);
    return found;
  };
  const expected = [0x7f, 0x38, 0x7e];
  equal(await codes(fresh, changed(device, {})), expected, 'a module that is not loaded');
  const own = changed(device, {});
  equal(await codes(web, own), expected, 'kernels that are not compiled');
  equal(await codes(web, own), expected, 'kernels that are compiled');
  return 'an array that is changed and given away';
}

/** A lost device is an error with its reason, also of the self-test. */
export async function lostDevice({ web, open }) {
  const device = await open();
  const call = () => web.castGpu(device, Float32Array.of(1), 'float', 'int8');
  await call();
  device.destroy();
  await device.lost;
  const started = 'casting float to int8: the device was lost: ';
  for (const [again, text] of [[call, started], [() => web.selfTest({ device, every: 700 }), 'casting float to float: the device was lost: ']]) {
    const error = await thrown(again);
    equal([error.name, error instanceof web.DeviceLostError, error.message.slice(0, text.length)], ['DeviceLost', true, text], error.stack);
  }
  return 'by one call and by the self-test';
}

/** Difficult codes of every so many pairs, and a device that writes a wrong bit. */
export async function selfTest({ web, device, every }) {
  const { pairs, done, casts, elements, mismatches, equal: same } = await web.selfTest({ device, every });
  equal([same, mismatches, done], [true, [], pairs], 'the self-test');
  const faulty = new Proxy(device, {
    get(target, name) {
      const value = target[name];
      if (name !== 'createShaderModule') return typeof value === 'function' ? value.bind(target) : value;
      return ({ label, code }) => target.createShaderModule({ label, code: code.replaceAll('destination[', 'destination[1u ^ ') });
    },
  });
  const wrong = await web.selfTest({ device: faulty, every: 300 });
  assert(!wrong.equal && wrong.mismatches.length > 0, 'wrong kernels are not found');
  return `${pairs} pairs, ${casts} casts of ${elements} elements, 0 differ; wrong kernels are found`;
}
