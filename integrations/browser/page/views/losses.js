// What casts lost, in the words of the program `wgpu-cast`.

import { counted, digits, heading, named, row } from '../dom.js';

/** The names of counts, as they are told to people. */
export const TOLD = {
  infinite: 'became infinite',
  nan: 'became NaN',
  saturated: 'became the largest or least number',
  out_of_range: 'out of range',
  zero: 'became 0',
  subnormal: 'became subnormal',
  nan_to_number: 'NaN became a number',
};

/** Those beyond the range of the type. */
const BEYOND = ['infinite', 'nan', 'saturated', 'out_of_range'];

/** Tensors in the table. */
const SHOWN = 100;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const beyond = (losses) => sum(BEYOND.map((kind) => losses[kind]));

/** A share in percent, never rounded to none or all. */
export function share(count, all) {
  const percent = 100 * count / all;
  if (count > 0 && percent < 0.01) return '< 0.01 %';
  if (count < all && percent > 99.99) return '> 99.99 %';
  return `${percent.toFixed(2)} %`;
}

function paragraph(text, kind = '') {
  const made = document.createElement('p');
  [made.textContent, made.className] = [text, kind];
  return made;
}

/** The rows of one tensor, or of all. */
function group(body, title, losses, elements) {
  body.append(heading(3, ...title));
  for (const kind of Object.keys({ ...TOLD, ...losses }).filter((each) => losses[each] > 0)) {
    body.append(row([TOLD[kind] ?? kind, digits(losses[kind]), share(losses[kind], elements)], [1, 2]));
  }
}

/** What the casts lost: of all tensors together, and of each tensor that lost anything. `file` names a tensor without a name. */
export function losses(tensors, file) {
  if (tensors.length === 0) {
    return [paragraph('Nothing was cast: the output is a copy. In .safetensors files, floats of other types are cast.')];
  }
  const kinds = [...new Set(tensors.map(({ from, to }) => `${from} → ${to}`))].join(', ');
  const elements = sum(tensors.map((tensor) => tensor.elements));
  const cast = paragraph(`${counted(tensors.length, 'tensor')} cast (${kinds}), ${counted(elements, 'value')}.`);
  const all = Object.fromEntries(Object.keys(tensors[0].losses).map((kind) => (
    [kind, sum(tensors.map((tensor) => tensor.losses[kind]))]
  )));
  const lossy = tensors.filter((tensor) => sum(Object.values(tensor.losses)) > 0);
  if (lossy.length === 0) return [cast, paragraph('No value was lost; values may be rounded.')];
  const worst = beyond(all);
  const warning = `Warning: ${counted(worst, 'value')} beyond the range of the type (${share(worst, elements)}).`;
  const table = document.createElement('table');
  table.createCaption().textContent = 'What was lost';
  const head = row(['loss', 'values', 'share'], [1, 2]);
  head.replaceChildren(...[...head.cells].map((cell) => {
    const made = document.createElement('th');
    [made.scope, made.className, made.textContent] = ['col', cell.className, cell.textContent];
    return made;
  }));
  table.createTHead().append(head);
  if (tensors.length > 1) group(table.createTBody(), [`all ${counted(tensors.length, 'tensor')}`], all, elements);
  lossy.sort((a, b) => beyond(b.losses) - beyond(a.losses));
  for (const { name, from, to, elements: own, losses: lost } of lossy.slice(0, SHOWN)) {
    group(table.createTBody(), [named(name || file), ` ${from} → ${to}, ${counted(own, 'value')}`], lost, own);
  }
  const more = lossy.length - SHOWN;
  return [cast, ...(worst > 0 ? [paragraph(warning, 'error')] : []), table,
    ...(more > 0 ? [paragraph(`${counted(more, 'tensor')} with fewer losses beyond the range not shown. The program wgpu-cast lists all: wgpu-cast convert --stats.`)] : [])];
}
