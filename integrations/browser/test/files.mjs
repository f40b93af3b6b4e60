// Files by the page's own view: chosen, cast and written.

import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { assert, cast, equal, floats, same } from './harness.mjs';

/** A `.npy` file of one axis. */
export function npy(dtype, elements, data) {
  const text = `{'descr': '${dtype}', 'fortran_order': False, 'shape': (${elements},), }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const header = Buffer.alloc(10 + length, ' ');
  header.write('\x93NUMPY\x01\x00', 'latin1');
  header.writeUInt16LE(length, 8);
  header.write(text, 10, 'latin1');
  header.write('\n', 10 + length - 1);
  return data ? Buffer.concat([header, data]) : header;
}

export function safetensors(tensors) {
  let end = 0;
  const header = {};
  for (const { name, dtype, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [end, end += data.length] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...tensors.map((tensor) => tensor.data)]);
}

/** Casts a file by the view. Returns the bytes of the output, and what the page tells. */
export async function convert(page, path, to, { device = 'cpu', read = true } = {}) {
  const input = await page.$('#file');
  await input.uploadFile(path);
  await page.select('#to', to);
  await page.select('#device', device);
  const { bytes, size, ...told } = await page.evaluate(async (wanted) => {
    const { cast: start } = await import('./views/cast.js');
    const folder = await navigator.storage.getDirectory();
    const handle = await folder.getFileHandle('output', { create: true });
    const done = await start(handle);
    // An output that was not made is removed.
    const file = done ? await handle.getFile() : new Blob([]);
    let text = '';
    if (wanted) {
      const made = new Uint8Array(await file.arrayBuffer());
      for (let i = 0; i < made.length; i += 4096) text += String.fromCharCode(...made.subarray(i, i + 4096));
    }
    if (done) await folder.removeEntry('output');
    const status = document.getElementById('cast-status');
    return { bytes: btoa(text), size: file.size, done, status: status.textContent, failed: status.className === 'error' };
  }, read);
  return { ...told, size, bytes: Buffer.from(bytes, 'base64') };
}

/** Uploads and compares downloads with casts of the same bytes. */
export async function files({ browser, devices, variant }) {
  const folder = mkdtempSync(join(tmpdir(), 'wgpu-cast-files-'));
  const page = await browser.page({ variant });
  let [count, written] = [0, 0];
  // A file that was chosen must not be written again.
  const put = (last, bytes) => {
    const path = join(folder, `${written += 1}-${last}`);
    writeFileSync(path, bytes);
    return path;
  };
  try {
    // More than a slice of 32 MiB, and not a whole number of steps.
    const elements = 6_000_001;
    const data = Buffer.from(floats(elements).buffer);
    const expected = {};
    for (const to of ['float16', 'float8e4m3fn', 'int4']) {
      expected[to] = (await cast(page, 'float', data.subarray(0, 4 * elements), elements, to)).bytes;
    }
    const good = async (...given) => {
      const made = await convert(...given);
      assert(!made.failed, made.status);
      return made;
    };
    for (const device of devices) {
      const half = await good(page, put('a.npy', npy('<f4', elements, data)), 'float16', { device });
      const header = npy('<f2', elements);
      same(half.bytes, Buffer.concat([header, expected.float16]), `a.npy to float16, ${device}`);
      assert(half.done.tensors[0].losses.infinite > 0, `losses are told: ${JSON.stringify(half.done)}`);

      const raw = await convert(page, put('b.bin', data), 'int4', { device });
      assert(raw.failed && raw.status.includes('element type'), `a .bin file needs a type: ${raw.status}`);
      await page.select('#from', 'float');
      same((await good(page, put('b.bin', data), 'int4', { device })).bytes, expected.int4, `b.bin, ${device}`);
      await page.select('#from', '');

      const ids = Buffer.from(new BigInt64Array([1n, -2n, 3n]).buffer);
      const stored = [
        { name: 'ids', dtype: 'I64', shape: [3], data: ids },
        { name: 'weights', dtype: 'F32', shape: [elements], data },
      ];
      const narrow = [stored[0], { ...stored[1], dtype: 'F8_E4M3', data: Buffer.from(expected.float8e4m3fn) }];
      const model = await good(page, put('c.safetensors', safetensors(stored)), 'float8e4m3fn', { device });
      const [found, wanted] = [model.bytes, safetensors(narrow)].map((bytes) => {
        const length = Number(bytes.readBigUInt64LE(0));
        return { header: JSON.parse(bytes.subarray(8, 8 + length)), data: bytes.subarray(8 + length) };
      });
      equal(found.header.weights.dtype, 'F8_E4M3', 'the type in the header');
      equal(found.header.ids, wanted.header.ids, 'the other tensor');
      same(found.data, wanted.data, `c.safetensors, ${device}`);

      // A TensorProto: dims, data_type FLOAT, raw_data.
      const few = data.subarray(0, 400);
      const proto = Buffer.concat([Buffer.from([0x08, 100, 0x10, 1, 0x4a, 0x90, 0x03]), few]);
      const message = await good(page, put('d.pb', proto), 'float16', { device });
      same(message.bytes.subarray(-200), expected.float16.subarray(0, 200), `d.pb, ${device}`);

      // Codes that are stored anew, in several slices: nothing is cast, and all of them are written.
      const swapped = Buffer.from(data).swap32();
      const little = await good(page, put('e.npy', npy('>f4', elements, swapped)), 'float', { device });
      same(little.bytes, npy('<f4', elements, data), `e.npy in little-endian order, ${device}`);
      equal(little.done.tensors, [], 'what was cast of e.npy');
      // Codes that stay: infinity of float8e5m2 is no number that is out of range.
      await page.select('#from', 'float8e5m2');
      const kept = Buffer.from([0x7c, 0xfc, 0x7b, 0x01]);
      same((await good(page, put('f.bin', kept), 'float8e5m2', { device })).bytes, kept, `f.bin, ${device}`);
      await page.select('#from', '');
      count += 6;
    }
    const broken = await convert(page, put('g.npy', npy('<f4', 10, Buffer.alloc(39))), 'float16');
    assert(broken.failed && broken.status.startsWith('FileError'), `a short file: ${broken.status}`);
    equal(page.errors, [], 'errors of the page');
    await page.close();
    return `${count} files, equal to casts of their bytes`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A sparse file of 2.5 GiB through the view. Only its ends are not zero. */
export async function large({ browser, memory }) {
  const folder = mkdtempSync(join(tmpdir(), 'wgpu-cast-large-'));
  const path = join(folder, 'large.npy');
  const elements = 671_088_640;
  const header = npy('<f4', elements);
  const file = openSync(path, 'w');
  const one = Buffer.from(new Float32Array([1]).buffer);
  writeSync(file, header);
  writeSync(file, one, 0, 4, header.length);
  ftruncateSync(file, header.length + 4 * elements);
  writeSync(file, one, 0, 4, header.length + 4 * (elements - 1));
  closeSync(file);
  const page = await browser.page();
  try {
    const start = Date.now();
    const watched = memory(page);
    const { done, size, status } = await convert(page, path, 'float8e4m3fn', { read: false });
    const most = await watched();
    assert(done, status);
    equal(size, npy('|V1', elements).length + elements, 'the size of the output');
    await page.close();
    return `2.5 GiB in ${((Date.now() - start) / 1000).toFixed(0)} s, ${most}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
