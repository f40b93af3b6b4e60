// Runs the tests on a device in Node, on Dawn. Arguments: the folder of the package, and every which pair the self-test casts, or
// `overhead` to measure instead.

import { pathToFileURL } from 'node:url';
import { create, globals } from 'webgpu';

import { overhead } from './overhead.js';
import { run } from './tests.js';

const [folder, every] = process.argv.slice(2);
const file = (name) => import(pathToFileURL(`${folder}/${name}`));
const web = await file('node.js');
// Tests name its constants.
Object.assign(globalThis, globals);
// Dawn ends with this object, so it is kept.
const gpu = create(['backend=vulkan']);
const adapter = await gpu.requestAdapter();
if (!adapter) {
  console.error('NOT RUN: casts on a device in Node: Dawn accepts none of the adapters here');
  process.exit(3);
}
const { vendor, architecture, description } = adapter.info;
console.log(`Dawn in Node ${process.version}, ${[vendor, architecture, description].filter(Boolean).join(', ')}`);
const open = async () => (await gpu.requestAdapter()).requestDevice();
if (every === 'overhead') {
  console.log(await overhead({ web, device: await open() }));
  process.exit(0);
}
const passed = await run({ web, file, device: await open(), open, every: Number(every) }, console.log);
// Dawn's threads would keep the process.
process.exit(passed ? 0 : 1);
