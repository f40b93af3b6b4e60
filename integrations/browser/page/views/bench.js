// The view that measures.

import { client } from '../client.js';
import { element, failure, row, tell } from '../dom.js';

async function measure() {
  const abort = new AbortController();
  element('bench-stop').onclick = () => abort.abort();
  [element('bench-start').disabled, element('bench-stop').disabled] = [true, false];
  const body = element('rates').tBodies[0];
  body.replaceChildren();
  element('rates').hidden = false;
  tell(element('bench-status'), 'Measuring …');
  const bars = [];
  const progress = ({ where, what, milliseconds, rate, copy }) => {
    const bar = document.createElement('span');
    bar.className = copy ? 'bar copy' : 'bar';
    bars.push({ where, bar, rate });
    body.append(row([where, what, milliseconds.toFixed(1), rate.toFixed(2), bar], [2, 3]));
    const same = bars.filter((each) => each.where === where);
    const most = Math.max(...same.map((each) => each.rate));
    same.forEach((each) => { each.bar.style.width = `${100 * each.rate / most}%`; });
  };
  try {
    const elements = Number(element('elements').value);
    const rows = await client.call('bench', { elements }, { progress, signal: abort.signal });
    tell(element('bench-status'), `${rows.length} medians of 5 runs. Grey bars are copies and transfers without a cast. Each of the places has a scale of its own.`);
  } catch (error) {
    tell(element('bench-status'), failure(error), true);
  }
  [element('bench-start').disabled, element('bench-stop').disabled] = [false, true];
}

export function start() {
  element('bench').querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    measure();
  });
}
