// Casts on devices of the tests' own: in Node, on Dawn with the driver that comes with Chromium.

import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { assert } from './harness.mjs';

/** Chromium's driver for the CPU, which is beside the browser. */
function driver(executable) {
  const folders = [dirname(realpathSync(executable)), '/usr/lib/chromium', '/opt/google/chrome'];
  return folders.map((folder) => `${folder}/vk_swiftshader_icd.json`).find(existsSync);
}

/** Runs a program of Node on Dawn. Returns its lines. */
export function onDawn(executable, program, ...given) {
  const found = driver(executable);
  const drivers = found ? { VK_ICD_FILENAMES: found, VK_DRIVER_FILES: found } : {};
  const { status, stdout, stderr } = spawnSync('node', [fileURLToPath(new URL(program, import.meta.url)), ...given], {
    env: { ...process.env, ...drivers }, encoding: 'utf8',
  });
  if (status === 3) return stderr.trim().split('\n').slice(-1);
  assert(status === 0, `${stdout}\n${stderr}`);
  return stdout.trim().split('\n');
}

export async function node(target, executable, every) {
  return onDawn(executable, 'device/node.mjs', `${target}/npm`, String(every)).join('\n        ');
}
