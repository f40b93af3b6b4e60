// Compares the checksums of casts in WebAssembly with the recorded ones: node run.mjs MODULE [--all]
import { readFileSync } from 'node:fs';

const [module, all] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(module), {});
const { count, inputs, is_example, is_right, memory, name, name_length } = instance.exports;

let casts = 0;
let elements = 0;
for (let index = 0; index < count(); index++) {
  const many = inputs(index) >= 2 ** 32;
  if (many && all !== '--all' && !is_example(index)) continue;
  if (!is_right(index)) {
    const start = name(index);
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, start, name_length()));
    console.error(`${text}: another checksum than the recorded one`);
    process.exit(1);
  }
  casts += 1;
  elements += inputs(index);
}
console.log(`${casts} casts, ${elements} elements: all checksums as recorded`);
