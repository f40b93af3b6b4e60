// The tests on a device that Node and browsers share. They are given { web, file, device, open, every }: the package, a function that imports
// one of its files, a GPUDevice, a function that opens another, and every which pair the self-test casts.

import { again, once, placed, scopes, views } from './bits.js';
import { limits, refused, refusing } from './refused.js';
import { castGpu, functions, lostDevice, plans, readAtOnce, selfTest, small } from './ways.js';

const TESTS = { placed, views, again, once, scopes, refused, limits, refusing, plans, small, functions, castGpu, readAtOnce, lostDevice, selfTest };

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
