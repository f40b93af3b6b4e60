// One job at a time, of all views: while it runs its options are locked, and its progress is shown.

import { element, tell } from './dom.js';

/** What runs. @type {string | undefined} */
let running;

/** Why no job can start now, if there is a reason. */
export const busy = () => running && `${running} Wait for the end, or stop it, and try again.`;

// A browser asks whether a page is to be left that has not finished.
addEventListener('beforeunload', (event) => { if (running) event.preventDefault(); });

/**
 * @typedef {object} View Mostly ids of elements.
 * @property {string} panel
 * @property {string} running A sentence that says what runs.
 * @property {string} start
 * @property {string} stop
 * @property {string} fields What cannot change while the job runs.
 * @property {string} result Where the focus goes at the end.
 * @property {string} status
 * @property {string} progress
 * @property {() => void} clear Removes what the last job told.
 * @property {string} reached Text beside the progress. No screen reader says each step.
 */

/**
 * Does the work of a view, unless another job runs.
 * @template T
 * @param {View} view
 * @param {(signal: AbortSignal, reach: (done: number, all: number, text: string) => void) => Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
export async function job(view, work) {
  if (running) {
    tell(element(view.status), busy(), true);
    return undefined;
  }
  running = view.running;
  view.clear();
  const abort = new AbortController();
  const [start, stop, progress, reached] = [view.start, view.stop, view.progress, view.reached].map(element);
  stop.onclick = () => {
    abort.abort();
    reached.textContent = 'Stopping …';
  };
  stop.disabled = false;
  // A button or field that is disabled would leave the focus to no element at all.
  if (element(view.panel).contains(document.activeElement)) stop.focus();
  [start.disabled, element(view.fields).disabled, progress.hidden] = [true, true, false];
  progress.removeAttribute('value');
  tell(element(view.status), view.running);
  try {
    return await work(abort.signal, (done, all, text) => {
      if (abort.signal.aborted) return;
      progress.value = all > 0 ? done / all : 1;
      reached.textContent = text;
    });
  } finally {
    running = undefined;
    [start.disabled, element(view.fields).disabled, progress.hidden] = [false, false, true];
    reached.textContent = '';
    if (document.activeElement === stop) element(view.result).focus();
    stop.disabled = true;
  }
}
