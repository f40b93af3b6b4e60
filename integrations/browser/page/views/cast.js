// The view that casts files.

import { client } from '../client.js';
import { advance, element, failure, row, size, tell } from '../dom.js';

const FORMATS = ['npy', 'safetensors', 'pb', 'bin'];

/** @type {File | undefined} */
let file;

/** The ending of a name, if it is that of a format. */
const format = (name) => FORMATS.find((ending) => name.toLowerCase().endsWith(`.${ending}`));

function choose(chosen) {
  file = chosen;
  const known = file && format(file.name);
  element('start').disabled = !known;
  const wrong = known ? '' : ' Only .npy, .safetensors, .pb and .bin files are cast here.';
  element('chosen').textContent = file ? `${file.name}, ${size(file.size)}.${wrong}` : '';
}

/** The name of the output. */
const outputName = (name, to) => name.replace(/(\.[^.]+)$/, `-${to}$1`);

/** A file of the user's choice, where the browser can write one as it is made; otherwise `undefined`. */
async function destination(name) {
  if (!('showSaveFilePicker' in globalThis)) return undefined;
  return globalThis.showSaveFilePicker({ suggestedName: name });
}

/** What the casts lost, of each tensor that lost anything, and of all. */
function losses(tensors) {
  const lossy = tensors.filter(({ losses: counts }) => Object.values(counts).some((count) => count > 0));
  if (lossy.length === 0) {
    const text = document.createElement('p');
    text.textContent = tensors.length === 0 ? 'Nothing had to be cast.' : 'No value was lost; values may be rounded.';
    return text;
  }
  const kinds = Object.keys(lossy[0].losses).filter((kind) => lossy.some(({ losses: counts }) => counts[kind] > 0));
  const table = document.createElement('table');
  table.createCaption().textContent = 'Values that the type cannot hold';
  const head = table.createTHead().insertRow();
  for (const title of ['tensor', 'elements', ...kinds.map((kind) => kind.replaceAll('_', ' '))]) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    cell.textContent = title;
    head.append(cell);
  }
  const body = table.createTBody();
  for (const { name, from, to, elements, losses: counts } of lossy) {
    const cells = [`${name} ${from} → ${to}`, elements, ...kinds.map((kind) => counts[kind])];
    body.append(row(cells.map((cell) => cell.toLocaleString('en')), cells.map((_, index) => index).slice(1)));
  }
  const scroll = document.createElement('div');
  scroll.className = 'scroll';
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', 'Losses');
  scroll.append(table);
  return scroll;
}

/**
 * Casts the chosen file. A test that cannot use a file picker gives the handle.
 * @param {FileSystemFileHandle} [handle]
 */
export async function cast(handle) {
  const to = element('to').value;
  const name = outputName(file.name, to);
  const status = element('cast-status');
  for (const id of ['download', 'losses']) element(id).replaceChildren();
  try {
    handle ??= await destination(name);
  } catch (error) {
    // The user has closed the picker.
    if (error.name === 'AbortError') return undefined;
    // The picker is not allowed here: the output becomes a download.
  }
  const abort = new AbortController();
  element('cancel').onclick = () => abort.abort();
  [element('start').disabled, element('cancel').disabled] = [true, false];
  advance(element('progress'), 0, 1);
  tell(status, 'Casting …');
  const parameters = {
    file,
    format: format(file.name),
    from: format(file.name) === 'bin' || element('from').value !== 'as in the file' ? element('from').value : undefined,
    to,
    options: { saturate: element('saturate').checked, roundMode: element('round-mode').value },
    device: element('device').value,
    timeout: Number(element('timeout').value),
    handle,
  };
  const progress = ({ written, bytes, notes }) => {
    advance(element('progress'), written, bytes);
    tell(status, [`${size(written)} of ${size(bytes)}.`, ...notes].join(' '));
  };
  try {
    const done = await client.call('convert', parameters, { progress, signal: abort.signal });
    const rate = size((file.size + done.bytes) / Math.max(done.seconds, 1e-3));
    tell(status, [`${size(done.bytes)} in ${done.seconds.toFixed(2)} s (${rate} a second).`, ...done.notes].join(' '));
    if (done.blob) {
      const link = document.createElement('a');
      [link.href, link.download, link.textContent] = [URL.createObjectURL(done.blob), name, `Save ${name}`];
      element('download').replaceChildren(link);
      link.click();
    }
    element('losses').replaceChildren(losses(done.tensors));
    return done;
  } catch (error) {
    tell(status, error.name === 'AbortError' ? 'Cancelled. The output was discarded.' : failure(error),
      error.name !== 'AbortError');
    return undefined;
  } finally {
    [element('start').disabled, element('cancel').disabled] = [false, true];
  }
}

/** Shows the options that matter for a type. */
function fields() {
  const to = element('to').value;
  element('saturate-field').hidden = !to.startsWith('float8');
  element('round-mode-field').hidden = to !== 'float8e8m0';
}

export function start(page, gpu) {
  element('from').prepend(new Option('as in the file'));
  element('from').value = 'as in the file';
  element('to').value = 'float16';
  element('to').addEventListener('change', fields);
  fields();
  element('device').querySelector('[value="gpu"]').disabled = !gpu;
  element('file').addEventListener('change', () => choose(element('file').files[0]));
  element('cast').querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    cast();
  });
  const drop = document.querySelector('.drop');
  for (const type of ['dragover', 'dragleave', 'drop']) {
    drop.addEventListener(type, (event) => {
      event.preventDefault();
      drop.classList.toggle('over', type === 'dragover');
      if (type === 'drop') choose(event.dataTransfer.files[0]);
    });
  }
}
