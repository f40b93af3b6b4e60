// What is refused, by whole texts.

import { changed, equal, filled, thrown, watched, STORAGE } from './tools.js';

/** An array whose memory is gone. */
function detached() {
  const array = Float32Array.of(1);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

export async function refused({ web, device }) {
  const caster = await web.createCaster(watched(device).device);
  const [buffer, other] = [filled(device, new Uint8Array(4096)), filled(device, new Uint8Array(4096))];
  const copy = filled(device, new Uint8Array(4096), 0x8);
  const short = device.createBuffer({ size: 3998, usage: STORAGE });
  const cast = caster.prepare('float', 'int8', 1000);
  const half = caster.prepare('float', 'float16', 1000);
  const narrow = caster.prepare('float', 'int4', 5);
  const same = caster.prepare('float', 'int32', 100);
  const long = 'a longer slice is given as';
  const rust = [
    [() => cast.bind({ buffer, size: 4096 }, other), 'Slice', web.SliceError, `casting float to int8: the source slice needs 4000 bytes to hold the cast's elements, got 4096; ${long} Source::part(slice, 0)`],
    [() => narrow.bind(buffer, { buffer: other, size: 8 }), 'Slice', web.SliceError, `casting float to int4: the destination slice needs 3 bytes to hold the cast's elements, got 8; ${long} Destination::part(slice, 0), which keeps the unused bits of the last byte instead of zeroing them`],
    [() => cast.bind({ buffer, offset: 2 }, other), 'Slice', web.SliceError, 'casting float to int8: the source slice starts at byte 2, which is not a multiple of 4'],
    [() => cast.bind({ buffer, offset: 4, first: 24 }, other), 'Slice', web.SliceError, 'casting float to int8: the source slice needs 4096 bytes to hold the cast\'s elements, got 4092'],
    [() => cast.bind(buffer, { buffer: other, offset: 3100 }), 'Slice', web.SliceError, 'casting float to int8: the elements in the destination slice at byte 3100 end at byte 4100 (in whole 32-bit words), but the buffer has 4096 bytes'],
    [() => cast.bind(buffer, copy), 'Slice', web.SliceError, 'casting float to int8: the destination buffer lacks the usage STORAGE'],
    [() => cast.bind(short, other), 'Slice', web.SliceError, 'casting float to int8: the elements in the source slice at byte 0 end at byte 4000 (in whole 32-bit words), but the buffer has 3998 bytes'],
    [() => same.bind(buffer, { buffer, offset: 4 }), 'Overlap', web.OverlapError, 'casting float to int32: the source at bytes 0..400 and the destination at bytes 4..404 of one buffer overlap; tensors of types of the same width must start at the same bit, or be apart'],
    [() => caster.prepare('float', 'string', 3), 'NoKernel', web.NoKernelError, 'casting float to string is supported only on the CPU: strings have no GPU kernel'],
    [() => caster.prepare('float', 'int8', 2 ** 53 - 1), 'Limit', web.LimitError, `casting float to int8 exceeds the limit max_buffer_size: 36028797018963964 needed, ${caster.limits.maxBufferSize} allowed`],
    [() => caster.prepareAsync('float', 'int8', { shape: [2, 2], destinationStrides: [1, 1] }), 'Strides', web.StridesError, 'casting float to int8: the elements of the destination overlap along axis 0'],
    [() => caster.prepare('float', 'int8', { shape: [2, 2], sourceStrides: [1] }), 'Strides', web.StridesError, 'casting float to int8: unsupported strided view: the numbers of strides and axes differ'],
    [async () => (await web.functions('q')).decodeFour('float16'), 'ElementWidth', web.ElementWidthError, 'float16 elements have 16 bits, at most 8 are allowed'],
    [() => web.functions('1'), 'WgslName', web.WgslNameError, undefined],
    [() => web.castGpu(device, { buffer, offset: 4094 }, 'float', 'int8'), 'Slice', web.SliceError, 'casting float to int8: the source slice starts at byte 4094, which is not a multiple of 4'],
    [() => web.plan('float', 'int8', 2 ** 40), 'Limit', web.LimitError, 'casting float to int8 exceeds the limit max_buffer_size: 4398046511104 needed, 268435456 allowed'],
  ];
  for (const [call, name, Class, message] of rust) {
    const error = await thrown(call);
    equal([error.name, error instanceof Class && error instanceof web.CastError], [name, true], `the class of ${error.stack}`);
    if (message !== undefined) equal(error.message, message, 'the text');
  }
  for (const [call, offset] of [[() => cast.bind({ buffer, offset: 2 }, other), 2], [() => web.castGpu(device, { buffer, offset: 4094 }, 'float', 'int8'), 4094]]) {
    equal({ ...await thrown(call) }, { from: 'float', to: 'int8', side: 'source', offset, alignment: 4, fault: 'alignment' }, 'fields of an error');
  }

  const slices = 'there are buffer, offset, size, first';
  const wrong = [
    [() => web.createCaster({}), 'device must be a GPUDevice, got Object'],
    [() => web.createCaster(device, { limit: {} }), 'unknown option "limit"; there are limits, tuning'],
    [() => web.createCaster(device, { limits: { maxBufferSize: -1 } }), 'limits.maxBufferSize must be a number of bytes, got -1'],
    [() => web.createCaster(device, { limits: { maxBuferSize: 1 } }), 'unknown property "maxBuferSize" of limits; there are maxBufferSize, maxStorageBufferBindingSize, minStorageBufferOffsetAlignment, maxComputeWorkgroupsPerDimension'],
    [() => web.createCaster(device, { limits: new (class { maxBuferSize = 1; })() }), 'unknown property "maxBuferSize" of limits; there are maxBufferSize, maxStorageBufferBindingSize, minStorageBufferOffsetAlignment, maxComputeWorkgroupsPerDimension'],
    [() => web.plan('float', 'int8', 1, { limits: { maxBuferSize: 1 } }), 'unknown property "maxBuferSize" of limits; there are maxBufferSize, maxStorageBufferBindingSize, minStorageBufferOffsetAlignment, maxComputeWorkgroupsPerDimension'],
    [() => web.createCaster(changed(device, { limits: undefined })), 'device.limits must be an object, got undefined'],
    [() => web.createCaster(device, { tuning: { lookups: 'table' } }), 'unknown property "lookups" of tuning; there are dispatchElements, blocksFrom, lookup'],
    [() => web.createCaster(device, { tuning: { lookup: 'none' } }), 'tuning.lookup must be \'table\' or \'computed\', got "none"'],
    [() => caster.prepare('float9', 'int8', 1), 'unknown element type "float9"'],
    [() => caster.prepare('float', undefined, 1), 'an element type is named by a string, got undefined'],
    [() => caster.prepare('float', 'int8', 1.5), 'elements must be a number of elements, got 1.5'],
    [() => caster.prepare('float', 'int8', { shape: [-1] }), 'shape[0] must be a number of elements, got -1'],
    [() => caster.prepare('float', 'int8', { shape: [2, null] }), 'shape[1] must be an integer, got null'],
    [() => caster.prepare('float', 'int8', { shape: 3 }), 'shape must be an array of integers, got 3'],
    [() => caster.prepare('float', 'int8', { shape: new DataView(new ArrayBuffer(8)) }), 'shape must be an array of integers, got DataView'],
    [() => caster.prepare('float', 'int8', { shape: [1], strides: [1] }), 'unknown property "strides" of the view; there are shape, sourceStrides, destinationStrides'],
    [() => caster.prepare('float', 'int8', 1, { saturate: 1 }), 'saturate must be a boolean, got 1'],
    [() => cast.bind(null, other), 'source must be a GPUBuffer or a slice of one, got null'],
    [() => cast.bind(buffer, {}), 'destination.buffer must be a GPUBuffer, got undefined'],
    [() => cast.bind({ buffer, offset: -4 }, other), 'source.offset must be a number of bytes, got -4'],
    [() => cast.bind({ buffer, ofset: 4 }, other), `unknown property "ofset" of source; ${slices}`],
    [() => half.bind(buffer, other).record({}), 'encoder must be a GPUCommandEncoder, got Object'],
    [() => half.bind(buffer, other).recordInPass(), 'pass must be a GPUComputePassEncoder, got undefined'],
    [() => caster.prepare('float', 'int8', 1, { saturated: true }), 'unknown option "saturated"; there are label, saturate, roundMode, int4Overflow, float4Nan'],
    [() => web.plan('float', 'int8', 1, { place: {} }), 'unknown option "place"; there are limits, tuning, placement, saturate, roundMode, int4Overflow, float4Nan'],
    [() => web.plan('float', 'int8', 1, { placement: { target: {} } }), 'unknown property "target" of placement; there are source, destination, buffers'],
    [() => web.plan('float', 'int8', 1, { placement: { source: { ofset: 4 } } }), 'unknown property "ofset" of placement.source; there are offset, first'],
    [() => web.functions('q', { value: 'f16' }), 'unknown option "value"; there are values'],
    [async () => (await web.functions('q')).encode('int4', { overflow: 'clamp' }), 'unknown option "overflow"; there are saturate, roundMode, int4Overflow, float4Nan'],
    [() => web.selfTest({ device: {} }), "device must be 'cpu' or 'gpu' or a GPUDevice, got Object"],
    [() => web.plan('float', 'int8', 1, { placement: { buffers: 3 } }), "placement.buffers must be 'two' or 'one' or 'allocations', got 3"],
    [() => web.functions(3), 'prefix must be a string, got 3'],
    [async () => (await web.functions('q')).load('int4', 3), 'array must be a name, or { vectors: name }, got 3'],
    [() => web.castGpu(device, 3, 'float', 'int8'), 'source must be a GPUBuffer, a slice of one or a typed array, got 3'],
    [() => web.castGpu(device, Int32Array.of(1), 'int8', 'float'), 'source must be Int8Array or Uint8Array or Uint8ClampedArray for int8, got Int32Array'],
    [() => web.castGpu(device, Int32Array.of(1), 'float', 'int8'), 'source must be Float32Array or Uint8Array or Uint8ClampedArray for float, got Int32Array'],
    [() => web.castGpu(device, detached(), 'float', 'int8'), 'source must lie in its buffer, got Float32Array of a buffer that is detached or too short'],
    [() => web.castGpu({}, Float32Array.of(1), 'float', 'int8'), 'device must be a GPUDevice, got Object'],
    [() => web.castGpu(device, { buffer, ofset: 4 }, 'float', 'int8'), `unknown property "ofset" of source; ${slices}`],
    [() => web.castGpu(device, { buffer, offset: 'a' }, 'float', 'int8'), 'source.offset must be a number of bytes, got "a"'],
    [() => web.castGpu(device, { buffer, offset: 4097 }, 'float', 'int8'), 'source.offset must be at most 4096, the bytes of the buffer, got 4097'],
    [() => web.castGpu(device, Uint8Array.of(1, 2, 3, 4, 5), 'float', 'int8'), 'source must be whole elements of float, got 5 bytes'],
    [() => web.castGpu(device, { buffer, first: 1025 }, 'float', 'int8'), 'source.first must be at most 1024, the elements of the slice, got 1025'],
    [() => web.castGpu(device, buffer, 'float', 'int8', { element: 1 }), 'unknown option "element"; there are elements, label, saturate, roundMode, int4Overflow, float4Nan'],
  ];
  for (const [call, message] of wrong) {
    const error = await thrown(call);
    equal([error.constructor.name, error.message], ['TypeError', message], 'a wrong argument');
  }
  return `${rust.length} refused casts, ${wrong.length} wrong arguments`;
}

/** Limits as plain objects, of a device that is not the browser's own and of a program. */
export async function limits({ web, device }) {
  const plain = {};
  for (const name in device.limits) plain[name] = device.limits[name];
  equal('maxBindGroups' in plain, true, 'a limit that casts do not need');
  const own = await web.createCaster(changed(device, { limits: plain }));
  const copied = await web.createCaster(device, { limits: plain });
  equal([own.limits, copied.limits], [copied.limits, (await web.createCaster(device)).limits], 'limits in plain objects');
  const { maxBufferSize, ...others } = plain;
  equal((await web.createCaster(changed(device, { limits: others }))).limits.maxBufferSize, 268_435_456, 'a limit that the device does not tell');
  const { dispatches } = await web.plan('float', 'int8', 5, { limits: plain });
  return `${Object.keys(plain).length} limits, of ${maxBufferSize} bytes; ${dispatches.length} dispatch`;
}

/** What devices refuse: one with small workgroups, and one that compiles no kernel, but is asked again. */
export async function refusing({ web, device }) {
  const [most, wide] = ['maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX'];
  for (const [small, name, allowed] of [
    [{ [most]: 128 }, 'max_compute_invocations_per_workgroup', 128],
    [{ [wide]: 64 }, 'max_compute_workgroup_size_x', 64],
    [{ [most]: 128, [wide]: 64 }, 'max_compute_invocations_per_workgroup', 128],
  ]) {
    const limits = new Proxy(device.limits, { get: (target, key) => small[key] ?? target[key] });
    const narrow = await web.createCaster(changed(device, { limits }));
    const limit = await thrown(() => narrow.prepare('float', 'int8', 1));
    equal([limit.name, limit.message, limit.limit, limit.needed, limit.allowed, limit instanceof web.LimitError], [
      'Limit', `casting float to int8 exceeds the limit ${name}: 256 needed, ${allowed} allowed`, name, 256, allowed, true,
    ], 'small workgroups');
  }
  let compiled = 0;
  const createShaderModule = (descriptor) => {
    compiled += 1;
    return device.createShaderModule(compiled > 1 ? descriptor : { ...descriptor, code: 'this is no WGSL' });
  };
  const caster = await web.createCaster(changed(device, { createShaderModule }));
  device.pushErrorScope('validation');
  const kernel = await thrown(() => caster.prepareAsync('float', 'int8', 1));
  const scoped = await device.popErrorScope();
  const text = 'casting float to int8: the device rejected the kernel: ';
  equal([kernel.name, kernel.message.slice(0, text.length), kernel instanceof web.KernelError, kernel.cause !== undefined], ['Kernel', text, true, true], 'no kernel');
  equal(scoped !== null, true, 'an error in the caller\'s scope');
  equal((await caster.prepareAsync('float', 'int8', 1)).elements, 1, 'elements after a second try');
  // What `prepare` compiled is not known to be a kernel, until the device is asked.
  compiled = 0;
  const unasked = await web.createCaster(changed(device, { createShaderModule }));
  device.pushErrorScope('validation');
  unasked.prepare('float', 'int8', 1);
  equal(await device.popErrorScope() !== null, true, 'what `prepare` leaves to the caller\'s scope');
  compiled = 0;
  device.pushErrorScope('validation');
  const late = await thrown(() => unasked.prepareAsync('float', 'int8', 1));
  await device.popErrorScope();
  equal([late.name, late.message.slice(0, text.length)], ['Kernel', text], 'no kernel after `prepare`');
  device.pushErrorScope('validation');
  unasked.prepare('float', 'int8', 1);
  equal([await device.popErrorScope(), compiled], [null, 2], 'a kernel that is compiled again');
  // The first kernel's promise is not left alone where the second one throws.
  const createComputePipelineAsync = async () => { throw new Error('no pipeline'); };
  compiled = 0;
  const broken = await web.createCaster(changed(device, {
    createComputePipelineAsync,
    createShaderModule: () => {
      compiled += 1;
      if (compiled > 1) throw new Error('no module');
    },
  }));
  equal((await thrown(() => broken.prepareAsync('float', 'bfloat16', 20_003))).message, 'no module', 'the second kernel');
  return 'small workgroups, and a kernel';
}
