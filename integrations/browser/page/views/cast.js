// The view that casts files.

import { client } from '../client.js';
import { element, failure, named, size, tell } from '../dom.js';
import { busy, job } from '../job.js';
import { losses } from './losses.js';
import { sample } from './sample.js';

const FORMATS = ['npy', 'safetensors', 'pb', 'bin'];

const OTHERS = ' Only .npy, .safetensors, .pb and .bin files are cast here. The program cast takes .onnx and .npz files, too.';

const VIEW = {
  panel: 'cast', running: 'A file is being cast.', start: 'start', stop: 'cancel', fields: 'cast-fields', result: 'cast-result',
  status: 'cast-status', progress: 'progress', reached: 'cast-reached', clear,
};

/** @type {File | undefined} */
let file;

/** The address of the last download. Its bytes stay until it is given up. @type {string | undefined} */
let download;

/** The ending of a name, if it is that of a format. */
const format = (name) => FORMATS.find((ending) => name.toLowerCase().endsWith(`.${ending}`));

/** Removes what was told of a cast. */
function clear() {
  tell(element('cast-status'), '');
  for (const id of ['download', 'losses']) element(id).replaceChildren();
  if (download) URL.revokeObjectURL(download);
  download = undefined;
}

/** Refuses, and moves the focus to what is to be changed. */
function refuse(text, id) {
  clear();
  tell(element('cast-status'), text, true);
  element(id).focus();
}

/** Shows the options that matter for the file and the type. What is not shown has no effect. */
export function fields() {
  const [to, device, ending] = [element('to').value, element('device').value, file && format(file.name)];
  element('saturate-field').hidden = !to.startsWith('float8');
  element('round-mode-field').hidden = to !== 'float8e8m0';
  element('timeout-field').hidden = element('timeout').disabled = device !== 'gpu';
  element('from-field').hidden = ending === 'safetensors';
  const [first] = element('from').options;
  if (first) first.textContent = ending === 'bin' ? 'choose a type' : 'as in the file';
}

function choose(chosen) {
  clear();
  file = chosen;
  const wrong = file && !format(file.name) ? OTHERS : '';
  tell(element('chosen'), file ? [named(file.name), `, ${size(file.size)}.${wrong}`] : '', Boolean(wrong));
  fields();
}

/** Files that were dropped anywhere on the page. */
function drop(files) {
  if (busy()) {
    tell(element('cast-status'), busy(), true);
  } else if (files.length !== 1) {
    tell(element('cast-status'), `Drop one file. ${files.length} were dropped, and none was taken.`, true);
  } else {
    element('file').files = files;
    choose(files[0]);
  }
}

/** The name of the output. */
const outputName = (name, to) => name.replace(/(\.[^.]+)$/, `-${to}$1`);

/** A file of the user's choice, where the browser can write one as it is made; otherwise `undefined`. */
async function destination(name) {
  if (!('showSaveFilePicker' in globalThis)) return undefined;
  try {
    return await globalThis.showSaveFilePicker({ suggestedName: name });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    // The picker is not allowed here: the output becomes a download.
    return undefined;
  }
}

/** Shows the output in memory as a link. */
function offer(blob, name) {
  const link = document.createElement('a');
  download = URL.createObjectURL(blob);
  [link.href, link.download] = [download, name];
  link.append('Save ', named(name));
  element('download').replaceChildren(link);
  return link;
}

/**
 * Casts the chosen file. A test that cannot use a file picker gives the handle.
 * @param {FileSystemFileHandle} [handle]
 * @param {boolean} saved Whether the output is saved at once; otherwise a link offers it.
 */
export async function cast(handle, saved = true) {
  const [source, to, from, route] = [file, element('to').value, element('from').value, element('device').value];
  const ending = source && format(source.name);
  if (!busy()) {
    if (!ending) return refuse('Choose a .npy, .safetensors, .pb or .bin file first.', 'file');
    if (ending === 'bin' && !from) {
      return refuse('A .bin file does not tell the element type of its codes: choose the type in From.', 'from');
    }
  }
  const status = element('cast-status');
  const parameters = {
    file: source,
    format: ending,
    from: ending === 'safetensors' ? undefined : from,
    to,
    options: { saturate: element('saturate').checked, roundMode: element('round-mode').value },
    device: route,
    timeout: Number(element('timeout').value),
  };
  return job(VIEW, async (signal, reach) => {
    const name = outputName(source.name, to);
    const progress = ({ written, bytes, notes }) => {
      reach(written, bytes, [`${size(written)} of ${size(bytes)}.`, ...notes].join(' '));
    };
    try {
      // A browser empties a file that is picked, so what cannot be cast is refused before.
      await client.call('check', parameters, { signal });
      const picked = handle ?? (saved ? await destination(name) : undefined);
      const done = await client.call('convert', { ...parameters, handle: picked }, { progress, signal });
      const rate = size((source.size + done.bytes) / Math.max(done.seconds, 1e-3));
      const took = `${size(source.size)} → ${size(done.bytes)} in ${done.seconds.toFixed(2)} s (${rate} a second).`;
      tell(status, [named(name), `: ${[took, ...done.notes].join(' ')}`]);
      if (done.blob) {
        const link = offer(done.blob, name);
        if (saved) link.click();
      }
      element('losses').replaceChildren(...losses(done.tensors, source.name));
      return done;
    } catch (error) {
      const cancelled = error.name === 'AbortError';
      tell(status, cancelled ? 'Cancelled. The output was discarded.' : failure(error), !cancelled);
      if (error.name === 'NotReadableError') {
        // The browser would not notice the same file chosen again.
        element('file').value = '';
        file = undefined;
        tell(element('chosen'), '');
      }
      return undefined;
    }
  });
}

/** Lets files be chosen at once. Returns what is to be called when the element types are known. */
export function start() {
  const form = element('cast').querySelector('form');
  // Also one that was chosen before this ran.
  choose(element('file').files[0]);
  element('file').addEventListener('change', () => choose(element('file').files[0]));
  form.addEventListener('change', ({ target }) => {
    if (target.id === 'file') return;
    clear();
    fields();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    cast();
  });
  element('sample').addEventListener('click', () => {
    element('file').value = '';
    element('from').value = '';
    choose(sample());
    cast(undefined, false);
  });
  // A file that misses the field would replace the page.
  for (const type of ['dragover', 'dragleave', 'drop']) {
    addEventListener(type, (event) => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      document.querySelector('.drop').classList.toggle('over', type === 'dragover');
      if (type === 'drop') drop(event.dataTransfer.files);
    });
  }
  return () => {
    element('from').prepend(new Option('as in the file', ''));
    element('from').value = '';
    element('to').value = 'float16';
    fields();
  };
}
