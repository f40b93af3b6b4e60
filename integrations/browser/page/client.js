// The page's side of the worker: calls by name, with progress. A worker whose module has failed is replaced.

/** @typedef {{ resolve: (value: any) => void, reject: (error: Error) => void, progress?: (value: any) => void }} Call */

class Client {
  /** @type {Map<number, Call>} */
  #calls = new Map();
  #last = 0;
  /** @type {Worker | undefined} */
  #worker;

  #start() {
    const worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => this.#answer(data);
    worker.onerror = (event) => this.#fail(new Error(event.message || 'the worker cannot be loaded'));
    this.#worker = worker;
    return worker;
  }

  #answer({ id, progress, result, error }) {
    const call = this.#calls.get(id);
    if (!call) return;
    if (progress !== undefined) {
      call.progress?.(progress);
      return;
    }
    this.#calls.delete(id);
    if (!error) {
      call.resolve(result);
      return;
    }
    const failure = Object.assign(new Error(error.message), { name: error.name });
    call.reject(failure);
    // The memory of a module that was interrupted is not to be used any more.
    if (error.name === 'RuntimeError') this.#fail(failure);
  }

  #fail(error) {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }

  /**
   * Calls a method of the worker.
   * @param {string} method
   * @param {object} [parameters]
   * @param {{ progress?: (value: any) => void, transfer?: Transferable[], signal?: AbortSignal }} [settings]
   * @returns {Promise<any>}
   */
  call(method, parameters = {}, { progress, transfer = [], signal } = {}) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#last += 1;
    const worker = this.#worker ?? this.#start();
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject, progress });
      worker.postMessage({ id, method, parameters }, transfer);
      signal?.addEventListener('abort', () => worker.postMessage({ id, method: 'stop' }), { once: true });
    });
  }
}

export const client = new Client();
