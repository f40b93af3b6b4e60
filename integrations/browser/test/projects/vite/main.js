// A page that casts, on the GPU where there is one.

import { cast, createCaster, selfTest, version } from 'wgpu-cast-web';

async function main() {
  const source = new Float32Array([1, 448, 465, NaN]);
  const expected = '56,126,126,127';
  const adapter = await navigator.gpu?.requestAdapter();
  const device = adapter ? 'gpu' : 'cpu';
  for (const each of ['cpu', device]) {
    const { data } = await cast(source, 'float', 'float8e4m3fn', { device: each });
    if (String(data) !== expected) return `${each}: ${data}, expected ${expected}`;
    // The array and the options, inherited ones too, are read before the call returns.
    const [array, inherited] = [Float32Array.of(1e9), { device: each, saturate: false }];
    const result = cast(array, 'float', 'float8e4m3fn', Object.create(inherited));
    array[0] = inherited.saturate = 1;
    const [code] = (await result).data;
    if (code !== 0x7f) return `${each}: ${code} from an array that was changed, expected 127`;
  }
  // On a device of the page's own, by the module without wgpu.
  if (adapter) {
    const own = await adapter.requestDevice();
    const { sourceBytes } = (await createCaster(own)).prepare('int4', 'float', 5);
    if (sourceBytes !== 3) return `5 elements of int4 have ${sourceBytes} bytes`;
    const { equal } = await selfTest({ device: own, every: 211 });
    if (!equal) return 'casts on a device of the page differ';
  }
  const { pairs, mismatches } = await selfTest({ device, every: 97 });
  return mismatches.length === 0 ? `ok: wgpu-cast-web ${await version()}, ${device}, ${pairs} pairs` : mismatches.join('\n');
}

document.body.textContent = await main().catch((error) => `${error.name}: ${error.message}`);
document.body.dataset.done = 'true';
