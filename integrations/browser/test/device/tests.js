// The tests on a device that Node and browsers share. They are given { web, device, open, every }: the package, a GPUDevice, a function that
// opens another, and every which pair the self-test casts.

import { once, placed, scopes, views } from './bits.js';
import { refused, refusing } from './refused.js';
import { castGpu, functions, lostDevice, plans, selfTest } from './ways.js';

const TESTS = { placed, views, once, scopes, refused, refusing, plans, functions, castGpu, lostDevice, selfTest };

/** Runs all tests. Calls `tell` with a line for each. Returns whether all passed. */
export async function run(given, tell) {
  let passed = true;
  for (const [name, test] of Object.entries(TESTS)) {
    const began = performance.now();
    const seconds = () => `(${((performance.now() - began) / 1000).toFixed(1)} s)`;
    try {
      const told = await test(given);
      tell(`ok      ${name} ${seconds()}: ${told}`);
    } catch (error) {
      passed = false;
      tell(`FAILED  ${name} ${seconds()}: ${error.stack}`);
    }
  }
  return passed;
}
