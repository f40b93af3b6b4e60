// The tests on a device that Node and browsers share: { web, device, every }, the package, a GPUDevice, and every which pair is tested.

import { once, placed, scopes, views } from './bits.js';
import { refused } from './refused.js';
import { castGpu, functions, plans, selfTest } from './ways.js';

const TESTS = { placed, views, once, scopes, refused, plans, functions, castGpu, selfTest };

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
