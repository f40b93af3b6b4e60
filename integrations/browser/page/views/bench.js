// The view that measures.

import { client } from '../client.js';
import { element, failure, heading, row, tell } from '../dom.js';
import { job } from '../job.js';

/** Where casts are measured, in the order in which they are shown. */
const PLACES = { cpu: 'CPU', gpu: 'GPU, between its buffers', transfer: 'to the GPU and back' };

const VIEW = {
  panel: 'bench', running: 'Casts are being measured.', start: 'bench-start', stop: 'bench-stop', fields: 'bench-fields',
  result: 'bench-result', status: 'bench-status', progress: 'bench-progress', reached: 'bench-reached', clear,
};

const rate = ({ bytes }, milliseconds) => bytes / milliseconds / 1e6;

function clear() {
  tell(element('bench-status'), '');
  element('rates').hidden = true;
  [...element('rates').tBodies].forEach((body) => body.remove());
}

/** The bars of a row: of the cast, and of the copy below it. */
function bars(measured, most) {
  const chart = document.createElement('div');
  for (const [kind, milliseconds] of [['bar', measured.cast], ['bar copy', measured.copy]]) {
    const bar = document.createElement('span');
    bar.className = kind;
    bar.style.width = `${100 * rate(measured, milliseconds) / most}%`;
    chart.append(bar);
  }
  return chart;
}

/** Shows what was measured so far, by places. */
function show(rows) {
  const table = element('rates');
  [...table.tBodies].forEach((body) => body.remove());
  for (const [place, title] of Object.entries(PLACES)) {
    const some = rows.filter((measured) => measured.place === place);
    if (some.length === 0) continue;
    const most = Math.max(...some.flatMap((measured) => [rate(measured, measured.cast), rate(measured, measured.copy)]));
    const body = table.createTBody();
    body.append(heading(6, title));
    for (const measured of some) {
      const { from, to, cast, copy } = measured;
      const numbers = [cast.toFixed(1), copy.toFixed(1), `${(cast / copy).toFixed(2)} ×`, rate(measured, cast).toFixed(2)];
      const made = row([`${from} → ${to}`, ...numbers, bars(measured, most)], [1, 2, 3, 4]);
      [...made.cells].slice(4).forEach((cell) => cell.classList.add('wide'));
      body.append(made);
    }
  }
  table.hidden = rows.length === 0;
}

function measure() {
  const parameters = { elements: Number(element('elements').value), device: element('bench-device').value };
  return job(VIEW, async (signal, reach) => {
    const rows = [];
    const progress = ({ row: measured, done, all }) => {
      rows.push(measured);
      show(rows);
      reach(done, all, `${done} of ${all} casts measured.`);
    };
    try {
      const { done, all } = await client.call('bench', parameters, { progress, signal });
      tell(element('bench-status'), done < all ? `Stopped after ${done} of ${all} casts.` : `${all} casts were measured.`);
    } catch (error) {
      tell(element('bench-status'), failure(error), true);
    }
  });
}

export function start() {
  const form = element('bench').querySelector('form');
  form.addEventListener('change', clear);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    measure();
  });
}
