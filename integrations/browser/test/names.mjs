// Names from files on a narrow screen, shares of losses, and files of other formats.

import { npy, safetensors } from './files.mjs';
import { equal, floats } from './harness.mjs';
import { text, until, withFiles } from './jobs.mjs';

/** Float tensors, and one that loses nothing. */
export function checkpoint() {
  const tensor = (name, values) => (
    { name, dtype: 'F32', shape: [values.length], data: Buffer.from(Float32Array.from(values).buffer) }
  );
  return safetensors([
    tensor('layers.0.\u202Egnp.exe', [1, 1e9, -1e9, 1e-9]),
    tensor('مرحبا', [1, 2, 1e9]),
    tensor(`layers.${'very_long_name.'.repeat(30)}weight`, Array.from({ length: 30_000 }, (_, index) => (index ? 1 : 1e9))),
    tensor('norm', [1, 2]),
  ]);
}

/** The table of losses at the width of a phone, row by row. */
export async function names({ browser }) {
  await withFiles(async (put) => {
    const page = await browser.page();
    await page.setViewport({ width: 390, height: 800 });
    await (await page.$('#file')).uploadFile(put('model \u202Esrotcnet.safetensors', checkpoint()));
    equal(await text(page, '#chosen'), 'model \\u202esrotcnet.safetensors, 121 kB.', 'the name of the file');
    await page.click('#start');
    await page.waitForSelector('#losses table');
    const long = `layers.${'very_long_name.'.repeat(30)}weight`;
    const rows = await page.$$eval('#losses tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    equal(rows, [
      ['loss', 'values', 'share'],
      ['all 4 tensors'],
      ['became infinite', '4', '0.01 %'],
      ['became 0', '1', '< 0.01 %'],
      ['layers.0.\\u202egnp.exe float → float16, 4 values'],
      ['became infinite', '2', '50.00 %'],
      ['became 0', '1', '25.00 %'],
      ['مرحبا float → float16, 3 values'],
      ['became infinite', '1', '33.33 %'],
      [`${long.slice(0, 100)}…(${long.length - 200} characters)…${long.slice(-100)} float → float16, 30,000 values`],
      ['became infinite', '1', '< 0.01 %'],
    ], 'the table of losses');
    equal(await page.$$eval('#losses > p', (all) => all.map((each) => each.textContent)), [
      '4 tensors cast (float → float16), 30,009 values.',
      'Warning: 4 values beyond the range of the type (0.01 %).',
    ], 'the sentences above it');
    equal(await page.$$eval('#losses bdi', (all) => all.length), 3, 'names that are isolated');
    const cut = await page.$$eval('#losses td, #losses th, #cast-status, #chosen', (all) => all
      .filter((cell) => cell.getBoundingClientRect().right > innerWidth || cell.scrollWidth > cell.clientWidth + 1)
      .map((cell) => cell.textContent));
    equal(cut, [], 'what is cut at 390 pixels');
    equal(page.errors, [], 'errors of the page');
    await page.close();
  });
  return 'names that turn the text, that are written from the right, and that are long, at 390 pixels';
}

/** Files that are something else, by the sentence that the page tells. */
export async function foreigners({ browser }) {
  const files = {
    'pointer.safetensors': ['version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
      'this is a pointer of Git LFS, not the file itself: fetch the file by git lfs pull'],
    'page.npy': ['<!DOCTYPE html>\n<html>', 'this is a web page, not a file of tensors: download the file itself'],
    'pytorch_model.bin': ['PK\x03\x04 archive',
      'this is a zip archive, as PyTorch and numpy write: save its tensors as .safetensors or .npy'],
    'old.bin': ['\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.', 'this is a checkpoint of PyTorch: save its tensors as .safetensors'],
    'model.bin': ['GGUF\x03\x00\x00\x00', 'this is a GGUF file, which is not read here'],
  };
  await withFiles(async (put) => {
    const page = await browser.page();
    for (const [name, [bytes, told]] of Object.entries(files)) {
      await (await page.$('#file')).uploadFile(put(name, Buffer.from(bytes, 'latin1')));
      if (name.endsWith('.bin')) await page.select('#from', 'float');
      await page.click('#start');
      await until(page, '#cast-status', 'FileError: ');
      equal(await text(page, '#cast-status'), `FileError: ${told}`, name);
    }
    await (await page.$('#file')).uploadFile(put('model.onnx', npy('<f4', 0)));
    equal(await text(page, '#chosen'),
      'model.onnx, 128 bytes. Only .npy, .safetensors, .pb and .bin files are cast here. The program cast takes .onnx and .npz files, too.',
      'another ending');
    await page.close();
  });
  return `${Object.keys(files).length} files that are something else`;
}

/** Codes with scales are refused, and codes that only look so are cast. */
export async function scaled({ browser }) {
  const tensor = (name, dtype, data) => ({ name, dtype, shape: [data.length / (dtype === 'F32' ? 4 : 1)], data: Buffer.from(data) });
  const [codes, one] = [[0x38, 0x40], [0, 0, 128, 63]];
  const beside = (scale) => `FileError: a.weight is float8e4m3fn, and its scale is probably stored beside it (${scale}): a cast of `
    + 'the codes alone gives wrong values. The program wgpu-cast tells which tensors have scales: wgpu-cast info FILE';
  const files = {
    'a.weight_scale_inv': beside('a.weight_scale_inv'),
    'a.scale_weight': beside('a.scale_weight'),
    'a.input_scale': beside('a.input_scale'),
    scaled_fp8: beside('scaled_fp8'),
    'b.scale': undefined,
    logit_scale: undefined,
  };
  await withFiles(async (put) => {
    const page = await browser.page();
    for (const [scale, told] of Object.entries(files)) {
      const model = safetensors([tensor('a.weight', 'F8_E4M3', codes), tensor(scale, 'F32', one)]);
      await (await page.$('#file')).uploadFile(put(`${scale}.safetensors`, model));
      await page.click('#start');
      await until(page, '#cast-status', told ? 'FileError: ' : `${scale}-float16.safetensors: `);
      if (told) equal(await text(page, '#cast-status'), told, scale);
      await page.waitForSelector('#start:not(:disabled)');
    }
    await page.close();
  });
  return `${Object.keys(files).length} files`;
}

/** Sizes have three digits, also of rates with a fraction of a byte. */
export async function sizes() {
  const { size } = await import('../page/dom.js');
  const told = [0, 850.1955449812684, 999.7, 1234, 999_999, 2.5e9].map((bytes) => size(bytes));
  equal(told, ['0 bytes', '850 bytes', '1.00 kB', '1.23 kB', '1.00 MB', '2.50 GB'], 'sizes');
  return told.join(', ');
}

/** Shares are never rounded to none or all. */
export async function shares() {
  const { share } = await import('../page/views/losses.js');
  const cases = [[0, 3], [3, 3], [1, 3], [1, 1e6], [999_999, 1e6], [1, 10_000]];
  const told = cases.map(([count, all]) => share(count, all));
  equal(told, ['0.00 %', '100.00 %', '33.33 %', '< 0.01 %', '> 99.99 %', '0.01 %'], 'shares');
  return told.join(', ');
}
