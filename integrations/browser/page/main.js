// Starts the page: the four views, and what is known of the GPU.

import { client } from './client.js';
import { element, failure, options, tell } from './dom.js';
import { start as startBench } from './views/bench.js';
import { fields, start as startCast } from './views/cast.js';
import { start as startKernels } from './views/kernels.js';
import { start as startVerify } from './views/verify.js';

const tabs = [...document.querySelectorAll('[role="tab"]')];
const panel = (tab) => tab.getAttribute('aria-controls');

/** Shows the view of a tab. */
function show(tab, focus = false) {
  for (const each of tabs) {
    const selected = each === tab;
    each.setAttribute('aria-selected', String(selected));
    each.tabIndex = selected ? 0 : -1;
    element(panel(each)).hidden = !selected;
  }
  if (focus) tab.focus();
  document.title = `${tab.textContent} · wgpu-cast`;
  history.replaceState(null, '', `#${panel(tab)}`);
}

/** Shows the view that the address names; without one the present view stays. */
function follow() {
  const tab = tabs.find((each) => `#${panel(each)}` === location.hash);
  show(tab ?? tabs.find((each) => each.tabIndex === 0));
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
addEventListener('hashchange', follow);
follow();

/** What is known of the adapter, for the report of a verification. */
const page = { version: '', device: {} };

/** One line about the devices, and the limits of the GPU. */
function describe(device) {
  page.device = device;
  const { vendor, architecture, description, fallback, reason, limits } = device;
  const name = [vendor, architecture, description].filter(Boolean).join(', ') || 'a GPU without a name';
  const found = `${name}${fallback ? ' (fallback adapter: software)' : ''}`;
  const unused = `. ${vendor === undefined ? '' : `GPU: ${found}. `}No GPU casts: ${reason}`;
  tell(element('adapter'), `Casts run on the CPU${reason ? unused : `, unless you choose the GPU: ${found}`}.`);
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
  const device = await client.call('device').catch((error) => ({ ...page.device, reason: failure(error) }));
  describe(device);
  if (device.reason) {
    chosen.disabled = true;
    element('device').value = 'cpu';
    fields();
  }
}

/** Offers the GPU. The views work without it meanwhile: some drivers take long to answer, or never do. */
async function offer() {
  const device = await client.call('adapter').catch((error) => ({ reason: failure(error) }));
  describe(device);
  for (const id of ['device', 'bench-device']) element(id).querySelector('[value="gpu"]').disabled = !device.limits;
  // Also one that fails when it is opened: this view finds out how.
  element('verify-device').querySelector('[value="gpu"]').disabled = device.vendor === undefined;
  document.body.dataset.gpu = device.limits ? 'yes' : 'no';
}

const ready = startCast();
startVerify(page);
startBench();
element('device').addEventListener('change', open);
try {
  const { version, types } = await client.call('hello');
  element('version').textContent = page.version = version;
  const names = types.map((type) => type.name);
  for (const id of ['from', 'to', 'kernel-from', 'kernel-to']) options(element(id), names);
  ready();
  startKernels();
  for (const id of ['start', 'sample', 'verify-start', 'bench-start']) element(id).disabled = false;
  tell(element('adapter'), 'Casts run on the CPU. Looking for a GPU …');
  document.body.dataset.ready = 'yes';
  offer();
} catch (error) {
  tell(element('adapter'), `The page cannot start: ${failure(error)} Load it again, or use a newer browser.`, true);
  [document.body.dataset.ready, document.body.dataset.gpu] = ['failed', 'no'];
}
