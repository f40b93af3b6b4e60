// Makes errors of what the small module throws, and of what a device says.

import {
  CastError, ElementWidthError, LimitError, NoKernelError, OverlapError, SliceError, StridesError, WgslNameError,
} from './errors.js';

const CLASSES = [NoKernelError, LimitError, SliceError, OverlapError, StridesError, ElementWidthError, WgslNameError];
const BY_NAME = new Map(CLASSES.map((each) => [each.kind, each]));

/** Calls the module. What it throws are errors as JSON, or errors of WebAssembly. */
export function called(call) {
  try {
    return call();
  } catch (thrown) {
    if (typeof thrown !== 'string') throw thrown;
    const { name, message, ...fields } = JSON.parse(thrown);
    throw new (BY_NAME.get(name) ?? CastError)(message, fields);
  }
}

/** The error for what a device refused. */
export function refused(Kind, from, to, text, fields = {}) {
  return new Kind(`casting ${from} to ${to}: ${text}`, { from, to, ...fields });
}
