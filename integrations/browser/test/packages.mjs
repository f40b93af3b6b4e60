// The npm package in small projects of others: in Node, and bundled by Vite and run in the browser.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { assert, equal } from './harness.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const run = (folder, program, ...given) => execFileSync(program, given, { cwd: folder, encoding: 'utf8' });

/** A copy of a project with the package installed from its archive, as npm would install it. */
function install(target, name) {
  const folder = `${target}/projects/${name}`;
  mkdirSync(folder, { recursive: true });
  cpSync(here(`projects/${name}`), folder, { recursive: true });
  const packed = run(`${target}/npm`, 'npm', 'pack', '--silent', '--pack-destination', folder).trim();
  if (!existsSync(`${folder}/node_modules`)) run(folder, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent');
  mkdirSync(`${folder}/node_modules/wgpu-cast-web`, { recursive: true });
  run(folder, 'tar', 'xzf', packed, '-C', 'node_modules/wgpu-cast-web', '--strip-components', '1');
  return folder;
}

export async function node(target) {
  const folder = install(target, 'node');
  return run(folder, 'node', 'main.mjs').trim();
}

export async function vite(target, browser, serve) {
  const folder = install(target, 'vite');
  run(folder, 'npx', 'vite', 'build', '--logLevel', 'warn');
  const server = await serve(`${folder}/dist`);
  const page = await browser.browser.newPage();
  page.setDefaultTimeout(600_000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`http://127.0.0.1:${server.port}/`);
  await page.waitForSelector('body[data-done]');
  const told = await page.$eval('body', (body) => body.textContent.trim());
  equal(errors, [], 'errors of the project');
  assert(told.startsWith('ok'), told);
  await page.close();
  server.close();
  return told;
}
