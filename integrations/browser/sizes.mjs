// Prints the size of each file of a folder and of all together, as it is and compressed by gzip and by brotli. Fails if the page is larger
// than it may be.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const MOST = 400_000;

const [folder] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
const sizes = files.map((file) => {
  const bytes = readFileSync(join(file.parentPath ?? file.path, file.name));
  const compressed = gzipSync(bytes, { level: 9 }).length;
  return { name: file.name, bytes: bytes.length, compressed, brotli: brotliCompressSync(bytes).length };
});
const sum = (key) => sizes.reduce((total, size) => total + size[key], 0);
sizes.push({ name: 'together', bytes: sum('bytes'), compressed: sum('compressed'), brotli: sum('brotli') });
console.log(`${'bytes'.padStart(37)} ${'gzip'.padStart(8)} ${'brotli'.padStart(8)}`);
for (const { name, ...numbers } of sizes) {
  console.log([name.padEnd(28), ...Object.values(numbers).map((number) => String(number).padStart(8))].join(' '));
}
if (sizes.at(-1).compressed > MOST) {
  console.error(`the page has more than ${MOST} bytes with gzip`);
  process.exitCode = 1;
}
