// Prints the size of each file of the page, as it is and compressed by gzip and by brotli; of all that opening it loads; and of all
// with the module for the GPU, which is loaded when it is needed. Fails if opening the page loads more than it may.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const MOST = 300_000;

const [folder] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
const sizes = files.map((file) => {
  const path = join(file.parentPath ?? file.path, file.name);
  const bytes = readFileSync(path);
  const gzip = gzipSync(bytes, { level: 9 }).length;
  return { name: relative(folder, path), bytes: bytes.length, gzip, brotli: brotliCompressSync(bytes).length };
});
const together = (name, some) => {
  const sum = (key) => some.reduce((total, size) => total + size[key], 0);
  return { name, bytes: sum('bytes'), gzip: sum('gzip'), brotli: sum('brotli') };
};
const opened = together('to open the page', sizes.filter(({ name }) => !name.startsWith('gpu')));
console.log(`${'bytes'.padStart(37)} ${'gzip'.padStart(8)} ${'brotli'.padStart(8)}`);
for (const { name, ...numbers } of [...sizes, opened, together('with the GPU', sizes)]) {
  console.log([name.padEnd(28), ...Object.values(numbers).map((number) => String(number).padStart(8))].join(' '));
}
if (opened.gzip > MOST) {
  console.error(`opening the page loads more than ${MOST} bytes with gzip`);
  process.exitCode = 1;
}
