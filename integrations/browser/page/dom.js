// What the views share.

/**
 * The element with this id.
 * @param {string} id
 * @returns {any}
 */
export const element = (id) => document.getElementById(id);

/** Fills a select with names. */
export function options(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name)));
}

/** Controls, marks of the direction of text, and line ends: those that the program `wgpu-cast` escapes. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/** Text of others as it is shown to people: without control characters, and cut in the middle if it is very long. */
export function printable(text, most = 2000) {
  const letters = [...text.replace(CONTROLS, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)];
  if (letters.length <= most) return letters.join('');
  const side = Math.floor(most / 2);
  const [start, end] = [letters.slice(0, side), letters.slice(-side)].map((part) => part.join(''));
  return `${start}…(${letters.length - 2 * side} characters)…${end}`;
}

/** A name from a file. Its direction does not change that of the text around it. */
export function named(name) {
  const shown = document.createElement('bdi');
  shown.textContent = printable(name, 200);
  return shown;
}

/**
 * Tells the state of a view, or an error.
 * @param {string | (string | Node)[]} text
 */
export function tell(target, text, isError = false) {
  target.replaceChildren(...[text].flat().map((part) => (typeof part === 'string' ? printable(part) : part)));
  target.className = isError ? 'error' : '';
}

/** What to do about errors of these names. */
const NEXT = {
  DeviceLost: 'Try again, or choose the CPU.',
  NoAdapter: 'Choose the CPU.',
  OutOfMemory: 'Close other pages, or choose the CPU.',
  QuotaExceededError: 'Make room on the disk, and try again.',
  RuntimeError: 'The module stopped, perhaps for want of memory, and starts anew with the next try.',
  TypeError: 'If the network is gone, try again when it is back.',
};

/** An error with its name, and what to do where that is known. */
export function failure({ name, message }) {
  const text = `${name}: ${message}`.replace(/\s+/g, ' ');
  return Object.hasOwn(NEXT, name) ? `${text}${/[.!?]$/.test(text) ? '' : '.'} ${NEXT[name]}` : text;
}

/** A number of bytes, to three digits. A rate may have a fraction of a byte. */
export function size(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  // Rounded before the unit is chosen: 999,999 bytes are 1.00 MB.
  const rounded = bytes < 1000 ? Math.round(bytes) : Number(bytes.toPrecision(3));
  const unit = Math.min(Math.floor(Math.log10(Math.max(rounded, 1)) / 3), units.length - 1);
  return `${unit === 0 ? rounded : (rounded / 1000 ** unit).toPrecision(3)} ${units[unit]}`;
}

/** A number with a comma before each three digits. */
export const digits = (number) => number.toLocaleString('en');

/** A number with its unit: `1 value`, `2 values`. */
export const counted = (number, unit) => `${digits(number)} ${unit}${number === 1 ? '' : 's'}`;

/** A row of a table. `numbers` are the places that are aligned to the right. */
export function row(cells, numbers = []) {
  const made = document.createElement('tr');
  for (const [index, text] of cells.entries()) {
    const cell = made.insertCell();
    if (numbers.includes(index)) cell.className = 'number';
    cell.append(text);
  }
  return made;
}

/** A row that heads those below it. */
export function heading(columns, ...parts) {
  const cell = document.createElement('th');
  [cell.scope, cell.colSpan] = ['rowgroup', columns];
  cell.append(...parts);
  const made = document.createElement('tr');
  made.append(cell);
  return made;
}
