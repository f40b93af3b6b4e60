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

/** Tells the state of a view, or an error with its name. */
export function tell(target, text, isError = false) {
  target.textContent = text;
  target.className = isError ? 'error' : '';
}

export const failure = (error) => `${error.name}: ${error.message}`;

/** A number of bytes, to three digits. */
export function size(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const unit = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${unit === 0 ? bytes : (bytes / 1000 ** unit).toPrecision(3)} ${units[unit]}`;
}

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

/** Progress in an element `progress`, 0 to 1. */
export function advance(bar, done, all) {
  bar.value = all > 0 ? done / all : 1;
}
