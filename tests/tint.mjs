// Compiles modules with tint, one a line as a JSON string, on Dawn's backend that needs no GPU. Run by tint.sh.

import { readFileSync } from 'node:fs';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
// Everything ends with this object, even if it is only collected as garbage.
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
// For the functions with values of this type.
const device = await adapter.requestDevice({ requiredFeatures: ['shader-f16'] });
const modules = readFileSync(process.argv[2], 'utf8').split('\n').filter((line) => line !== '');
let wrong = 0;
for (const line of modules) {
    const code = JSON.parse(line);
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ code });
    const { messages } = await module.getCompilationInfo();
    device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    const error = await device.popErrorScope();
    if (error !== null || messages.length > 0) {
        wrong += 1;
        if (wrong <= 3) {
            messages.forEach(({ type, lineNum, message }) => console.error(`${type} in line ${lineNum}: ${message}`));
            console.error(error?.message ?? '', code);
        }
    }
}
console.log(`tint: ${modules.length} modules, ${wrong} wrong`);
device.destroy();
process.exit(gpu && wrong === 0 && modules.length > 0 ? 0 : 1);
