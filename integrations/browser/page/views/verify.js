// The view that verifies all pairs, and its report.

import { client } from '../client.js';
import { advance, element, failure, tell } from '../dom.js';

/** Text in a cell of a table in Markdown. */
const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The report to paste into an issue. */
export function report(page, settings, state) {
  const { vendor, architecture, description, fallback, limits } = page.device;
  const wrong = state.mismatches.length > 0;
  const ended = state.error ?? (state.stopped ? 'stopped' : undefined);
  const rows = [
    ['wgpu-cast', page.version],
    ['browser', navigator.userAgent],
    ['system', navigator.userAgentData?.platform ?? navigator.platform],
    ['device', settings.device === 'gpu' ? [vendor, architecture, description].filter(Boolean).join(', ') : 'CPU'],
  ];
  if (settings.device === 'gpu') {
    rows.push(['fallback adapter', fallback ? 'yes' : 'no'], ...Object.entries(limits ?? {}));
  }
  rows.push(
    ['extent', settings.thorough ? 'thorough' : 'quick'],
    ['pairs', `${state.done} of ${state.pairs}`],
    ['casts', state.casts],
    ['elements', state.elements],
    ['seconds', state.seconds.toFixed(1)],
    ['checksum of all results', state.checksum],
    ['result', wrong ? 'WRONG RESULTS, see below' : ended ?? 'all results as expected'],
  );
  const table = ['| verify in the browser | |', '|---|---|', ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`)];
  const mismatches = wrong ? ['', '```text', ...state.mismatches, '```'] : [];
  return [...table, ...mismatches, ''].join('\n');
}

async function verify(page) {
  const settings = { thorough: element('extent').value === 'thorough', device: element('verify-device').value };
  const abort = new AbortController();
  element('verify-stop').onclick = () => abort.abort();
  [element('verify-start').disabled, element('verify-stop').disabled] = [true, false];
  const [status, text] = [element('verify-status'), element('report')];
  let state = { pairs: 0, done: 0, casts: 0, elements: 0, seconds: 0, mismatches: [], checksum: '' };
  const progress = (reached) => {
    state = reached;
    advance(element('verify-progress'), state.done, state.pairs);
    tell(status, `${state.done} of ${state.pairs} pairs: ${state.next}`);
  };
  try {
    progress(await client.call('verify', settings, { progress, signal: abort.signal }));
    const wrong = state.mismatches.length;
    const end = state.stopped ? 'Stopped after' : 'Done:';
    tell(status, `${end} ${state.done} of ${state.pairs} pairs, ${wrong === 0 ? 'no wrong result' : 'WRONG RESULTS'}.`,
      wrong > 0);
  } catch (error) {
    state = { ...state, error: failure(error) };
    tell(status, failure(error), true);
  }
  text.textContent = report(page, settings, state);
  text.hidden = false;
  [element('verify-start').disabled, element('verify-stop').disabled, element('copy').disabled] = [false, true, false];
}

async function copy() {
  const text = element('report');
  try {
    await navigator.clipboard.writeText(text.textContent);
    tell(element('verify-status'), 'The report was copied.');
  } catch {
    getSelection().selectAllChildren(text);
    tell(element('verify-status'), 'The browser refuses to copy. The report is selected.');
  }
}

export function start(page) {
  // Also one that fails when it is opened: this view finds out how.
  const gpu = page.device.vendor !== undefined;
  element('verify-device').querySelector('[value="gpu"]').disabled = !gpu;
  element('verify-device').value = gpu ? 'gpu' : 'cpu';
  element('copy').addEventListener('click', copy);
  element('verify').querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    verify(page);
  });
}
