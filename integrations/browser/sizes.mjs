// Prints the size of each file of the page, as it is and compressed by gzip and by brotli; of all that opening it loads; and of all
// with the module for the GPU, which is loaded when it is needed. Then the same of what the package loads for casts on the caller's own
// device. Fails if opening the page, or such casts, load more than they may.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const MOST = 300_000;
const MOST_ON_DEVICE = 108_000;

const [page, packaged] = process.argv.slice(2);

/** The sizes of the files of a folder. */
function measured(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  return files.map((file) => {
    const path = join(file.parentPath ?? file.path, file.name);
    const bytes = readFileSync(path);
    const gzip = gzipSync(bytes, { level: 9 }).length;
    return { name: relative(folder, path), bytes: bytes.length, gzip, brotli: brotliCompressSync(bytes).length };
  });
}

const together = (name, some) => {
  const sum = (key) => some.reduce((total, size) => total + size[key], 0);
  return { name, bytes: sum('bytes'), gzip: sum('gzip'), brotli: sum('brotli') };
};

function print(lines) {
  console.log(`${'bytes'.padStart(37)} ${'gzip'.padStart(8)} ${'brotli'.padStart(8)}`);
  for (const { name, ...numbers } of lines) {
    console.log([name.padEnd(28), ...Object.values(numbers).map((number) => String(number).padStart(8))].join(' '));
  }
}

const sizes = measured(page);
const opened = together('to open the page', sizes.filter(({ name }) => !name.startsWith('gpu')));
print([...sizes, opened, together('with the GPU', sizes)]);

// All but the whole module, what only Node loads, and texts.
const other = /^wgpu_cast_web(\.|_bg\.)|\.d\.ts$|^node\.js$|^LICENSE|^README|^package\.json$/;
const small = measured(packaged).filter(({ name }) => !other.test(name));
const onDevice = together('casts on a device', small);
print([...small, onDevice]);

for (const [{ name, gzip }, most] of [[opened, MOST], [onDevice, MOST_ON_DEVICE]]) {
  if (gzip <= most) continue;
  console.error(`${name}: more than ${most} bytes with gzip`);
  process.exitCode = 1;
}
