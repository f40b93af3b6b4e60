// A page that casts, on the GPU where there is one.

import { cast, selfTest, version } from 'wgpu-cast-web';

async function main() {
  const source = new Float32Array([1, 448, 465, NaN]);
  const expected = '56,126,126,127';
  const device = (await navigator.gpu?.requestAdapter()) ? 'gpu' : 'cpu';
  for (const each of ['cpu', device]) {
    const { data } = await cast(source, 'float', 'float8e4m3fn', { device: each });
    if (String(data) !== expected) return `${each}: ${data}, expected ${expected}`;
  }
  const { pairs, mismatches } = await selfTest({ device, every: 97 });
  return mismatches.length === 0 ? `ok: wgpu-cast-web ${await version()}, ${device}, ${pairs} pairs` : mismatches.join('\n');
}

document.body.textContent = await main().catch((error) => `${error.name}: ${error.message}`);
document.body.dataset.done = 'true';
