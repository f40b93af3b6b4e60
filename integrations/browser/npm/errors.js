// What can be wrong with a cast. Each kind is a class; `name` is the word that Rust's enums and the other functions of this package
// have for it, and `message` is Rust's text.

/** Any error of a cast. Details are fields. */
export class CastError extends Error {
  constructor(message, fields = {}) {
    super(message);
    // Not an own field that a message printed by a console would repeat.
    Object.defineProperty(this, 'name', { value: new.target.kind, configurable: true, writable: true });
    Object.assign(this, fields);
  }

  static kind = 'CastError';
}

export class NoKernelError extends CastError { static kind = 'NoKernel'; }
export class LimitError extends CastError { static kind = 'Limit'; }
export class SliceError extends CastError { static kind = 'Slice'; }
export class OverlapError extends CastError { static kind = 'Overlap'; }
export class StridesError extends CastError { static kind = 'Strides'; }
export class ElementWidthError extends CastError { static kind = 'ElementWidth'; }
export class WgslNameError extends CastError { static kind = 'WgslName'; }
export class KernelError extends CastError { static kind = 'Kernel'; }
export class OutOfMemoryError extends CastError { static kind = 'OutOfMemory'; }
export class DeviceLostError extends CastError { static kind = 'DeviceLost'; }
export class DeviceError extends CastError { static kind = 'Device'; }
