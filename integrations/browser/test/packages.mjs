// The npm package in small projects of others: in Node, and bundled by Vite and run in the browser.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { assert, equal, NotRun } from './harness.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function run(folder, program, ...given) {
  try {
    return execFileSync(program, given, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    // Some programs tell what is wrong on the standard output.
    error.message += `\n${error.stdout}`;
    throw error;
  }
}

/** Runs npm in a folder. What the registry refuses is a failure, unless it is busy or broken. */
export function npm(folder, ...given) {
  try {
    return run(folder, 'npm', ...given, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error');
  } catch (error) {
    const [, code] = /code (E(?:NOTFOUND|CONN[A-Z]+|TIMEDOUT|AI_AGAIN|NETUNREACH|HOSTUNREACH|408|429|5\d\d)\b|ERR_SOCKET_TIMEOUT)/.exec(error.stderr ?? '') ?? [];
    throw code ? new NotRun(`npm cannot reach its registry (${code})`) : error;
  }
}

/** A copy of a project with the package installed from its archive. */
function install(target, name) {
  const folder = `${target}/projects/${name}`;
  mkdirSync(folder, { recursive: true });
  cpSync(here(`projects/${name}`), folder, { recursive: true });
  const packed = npm(`${target}/npm`, 'pack', '--pack-destination', folder).trim();
  if (!existsSync(`${folder}/node_modules`)) npm(folder, 'ci');
  // That of an earlier run has the same version.
  rmSync(`${folder}/node_modules/wgpu-cast-web`, { recursive: true, force: true });
  npm(folder, 'install', '--no-save', '--prefer-offline', `./${packed}`);
  return folder;
}

export async function node(target) {
  const folder = install(target, 'node');
  return run(folder, 'node', 'main.mjs').trim();
}

/** What a page of a project says in the end. */
async function told(browser, port) {
  const page = await browser.browser.newPage();
  page.setDefaultTimeout(600_000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForSelector('body[data-done]');
  const text = await page.$eval('body', (body) => body.textContent.trim());
  equal(errors, [], 'errors of the project');
  assert(text.startsWith('ok'), text);
  await page.close();
  return text;
}

/** The types of the package, and the project as Vite bundles it. */
export async function vite(target, browser, serve) {
  const folder = install(target, 'vite');
  run(folder, 'npx', 'tsc');
  run(folder, 'npx', 'tsc', '--project', 'tsconfig.next.json');
  run(folder, 'npx', 'vite', 'build', '--logLevel', 'warn');
  const server = await serve(`${folder}/dist`);
  const text = await told(browser, server.port);
  server.close();
  return text;
}

/** The project as Vite serves it to its developer, with the setting that the README names. */
export async function viteServes(target, browser) {
  const server = spawn('node', ['serve.mjs'], { cwd: install(target, 'vite'), stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const ended = once(server, 'exit').then(([status, signal]) => { throw new Error(`serve.mjs has ended: ${status ?? signal}`); });
    const [port] = await Promise.race([once(server.stdout, 'data'), ended]);
    return await told(browser, Number(port));
  } finally {
    server.kill();
  }
}
