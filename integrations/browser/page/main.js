// Starts the page: what is known of the GPU, and the four views.

import { client } from './client.js';
import { element, options } from './dom.js';
import { start as startBench } from './views/bench.js';
import { start as startCast } from './views/cast.js';
import { start as startKernels } from './views/kernels.js';
import { start as startVerify } from './views/verify.js';

const tabs = [...document.querySelectorAll('[role="tab"]')];

/** Shows the view of a tab. */
function show(tab, focus = false) {
  for (const each of tabs) {
    const selected = each === tab;
    each.setAttribute('aria-selected', String(selected));
    each.tabIndex = selected ? 0 : -1;
    element(each.getAttribute('aria-controls')).hidden = !selected;
  }
  if (focus) tab.focus();
  history.replaceState(null, '', `#${tab.getAttribute('aria-controls')}`);
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener('click', () => show(tab));
  tab.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = { Home: 0, End: tabs.length - 1 }[event.key] ?? (index + step + tabs.length) % tabs.length;
    if (Number.isInteger(to)) {
      event.preventDefault();
      show(tabs[to], true);
    }
  });
}
show(tabs.find((tab) => `#${tab.getAttribute('aria-controls')}` === location.hash) ?? tabs[0]);

/** One line about the GPU, and its limits. */
function describe(device) {
  const { vendor, architecture, description, fallback, reason, limits } = device;
  const name = [vendor, architecture, description].filter(Boolean).join(', ') || 'a GPU without a name';
  const told = vendor === undefined ? '' : `GPU: ${name}${fallback ? ' (fallback adapter: software)' : ''}`;
  element('adapter').textContent = reason ? `${told ? `${told}. ` : ''}No GPU casts: ${reason}.` : `${told}.`;
  element('limits').hidden = !limits;
  element('limits').querySelector('dl').replaceChildren();
  for (const [limit, value] of Object.entries(limits ?? {})) {
    const [term, number] = [document.createElement('dt'), document.createElement('dd')];
    [term.textContent, number.textContent] = [limit, value.toLocaleString('en')];
    element('limits').querySelector('dl').append(term, number);
  }
}

/** Opens the GPU when it is chosen. One that does not work cannot be chosen again. */
async function open() {
  const [chosen] = element('device').selectedOptions;
  if (chosen.value !== 'gpu') return;
  const device = await client.call('device');
  describe(device);
  if (device.reason) [element('device').value, chosen.disabled] = ['cpu', true];
}

try {
  const page = await client.call('hello');
  element('version').textContent = page.version;
  describe(page.device);
  const names = page.types.map((type) => type.name);
  for (const id of ['from', 'to', 'kernel-from', 'kernel-to']) options(element(id), names);
  const gpu = Boolean(page.device.limits);
  startCast(page, gpu);
  element('device').addEventListener('change', open);
  startVerify(page);
  startBench();
  startKernels();
  document.body.dataset.ready = gpu ? 'gpu' : 'cpu';
} catch (error) {
  element('adapter').textContent = `The page cannot start: ${error.message}`;
  element('adapter').className = 'error';
  document.body.dataset.ready = 'failed';
}
