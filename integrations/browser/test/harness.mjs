// A browser with an empty profile, and pages in it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const SWITCHES = [
  '--no-sandbox', '--enable-unsafe-webgpu', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--no-first-run',
  // Containers often have little of the memory that Chromium takes otherwise.
  '--disable-dev-shm-usage', '--host-resolver-rules=MAP insecure.test 127.0.0.1',
];

export class Browser {
  static async open(executablePath, port) {
    const userDataDir = mkdtempSync(join(tmpdir(), 'wgpu-cast-browser-'));
    const browser = await puppeteer.launch({
      executablePath, userDataDir, args: SWITCHES, headless: true, protocolTimeout: 3_600_000,
    });
    return Object.assign(new Browser(), { browser, userDataDir, port });
  }

  /** A page of a variant with what it has logged, when it and what is known of the GPU are there, or another part. */
  async page({ variant, hash = '', host = '127.0.0.1', wait = 'body[data-ready][data-gpu]' } = {}) {
    const page = await this.browser.newPage();
    page.setDefaultTimeout(3_600_000);
    // No headless browser has a file picker. The file system of the origin stands in for it.
    await page.evaluateOnNewDocument(() => {
      globalThis.picked = [];
      globalThis.showSaveFilePicker = async ({ suggestedName }) => {
        globalThis.picked.push(suggestedName);
        return (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true });
      };
    });
    const errors = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
    await page.goto(`http://${host}:${this.port}/${variant ? `${variant}/` : ''}${hash}`);
    await page.waitForSelector(wait);
    return Object.assign(page, { errors });
  }

  async close() {
    await this.browser.close();
    rmSync(this.userDataDir, { recursive: true, force: true });
  }
}

/** Calls a method of the page's worker. Errors come back as { error: { name, message } }. */
export function call(page, method, parameters = {}) {
  return page.evaluate(async (called, given) => {
    const { client } = await import('./client.js');
    try {
      return { result: await client.call(called, given) };
    } catch ({ name, message }) {
      return { error: { name, message } };
    }
  }, method, parameters);
}

/**
 * Casts bytes by the page's worker. Returns the bytes and the losses, or the error.
 * @param {Uint8Array} bytes
 */
export async function cast(page, from, bytes, elements, to, settings = {}) {
  const source = Buffer.from(bytes).toString('base64');
  const answer = await page.evaluate(async (given, parameters) => {
    const { client } = await import('./client.js');
    const decoded = Uint8Array.from(atob(given), (letter) => letter.charCodeAt(0));
    try {
      const { bytes: result, losses } = await client.call('cast', { ...parameters, bytes: decoded });
      let text = '';
      for (let i = 0; i < result.length; i += 4096) text += String.fromCharCode(...result.subarray(i, i + 4096));
      return { bytes: btoa(text), losses };
    } catch ({ name, message }) {
      return { error: { name, message } };
    }
  }, source, { from, elements, to, ...settings });
  return answer.error ? answer : { ...answer, bytes: new Uint8Array(Buffer.from(answer.bytes, 'base64')) };
}

/** Floats that are all kinds of numbers, the same each time. */
export function floats(count) {
  const words = new Uint32Array(count);
  let state = 0x2545f491;
  for (let i = 0; i < count; i += 1) {
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer);
}

/** Why a test cannot run here. */
export class NotRun extends Error {}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(found, expected, message) {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value));
  assert(a === b, `${message}: ${a.slice(0, 400)}, expected ${b.slice(0, 400)}`);
}

/** Compares bytes. */
export function same(found, expected, message) {
  const at = found.length === expected.length
    ? found.findIndex((byte, index) => byte !== expected[index])
    : Math.min(found.length, expected.length);
  assert(at < 0, `${message}: byte ${at} of ${expected.length} differs (${found.length} found)`);
}
