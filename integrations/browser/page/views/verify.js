// The view that verifies all pairs, and its report.

import { client } from '../client.js';
import { element, failure, tell } from '../dom.js';
import { job } from '../job.js';

const VIEW = {
  panel: 'verify', running: 'All pairs are being verified.', start: 'verify-start', stop: 'verify-stop', fields: 'verify-fields',
  result: 'verify-result', status: 'verify-status', progress: 'verify-progress', reached: 'verify-reached',
  clear,
};

/** Text in a cell of a table in Markdown. */
const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

/** What is told of a verification: terms and values. */
function facts(page, settings, state) {
  const { vendor, architecture, description, fallback, limits } = page.device;
  const ended = state.error ?? (state.stopped ? 'stopped' : undefined);
  const isOnGpu = settings.device === 'gpu';
  return [
    ['result', state.mismatches.length > 0 ? 'WRONG RESULTS, see below' : ended ?? 'all results as expected'],
    ['pairs', `${state.done} of ${state.pairs}`],
    ['casts', state.casts],
    ['elements', state.elements],
    ['seconds', state.seconds.toFixed(1)],
    ['checksum of all results', state.checksum],
    ['extent', settings.thorough ? 'thorough' : 'quick'],
    ['device', isOnGpu ? [vendor, architecture, description].filter(Boolean).join(', ') : 'CPU'],
    ...(isOnGpu ? [['fallback adapter', fallback ? 'yes' : 'no'], ...Object.entries(limits ?? {})] : []),
    ['wgpu-cast', page.version],
    ['browser', navigator.userAgent],
    ['system', navigator.userAgentData?.platform ?? navigator.platform],
  ];
}

/** The report to paste into an issue. */
export function report(rows, mismatches) {
  const table = ['| verify in the browser | |', '|---|---|', ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`)];
  return [...table, ...(mismatches.length > 0 ? ['', '```text', ...mismatches, '```'] : []), ''].join('\n');
}

function clear() {
  for (const id of ['verify-status', 'copied']) tell(element(id), '');
  element('verify-report').hidden = true;
}

function show(page, settings, state) {
  const rows = facts(page, settings, state);
  element('report').textContent = report(rows, state.mismatches);
  const wrong = state.mismatches.map((text) => ['wrong', text]);
  element('summary').replaceChildren(...[...wrong, ...rows].flatMap(([term, value]) => {
    const [name, text] = [document.createElement('dt'), document.createElement('dd')];
    [name.textContent, text.textContent] = [term, typeof value === 'number' ? value.toLocaleString('en') : value];
    return [name, text];
  }));
  element('verify-report').hidden = false;
}

function verify(page) {
  const settings = { thorough: element('extent').value === 'thorough', device: element('verify-device').value };
  const status = element('verify-status');
  return job(VIEW, async (signal, reach) => {
    let state = { pairs: 0, done: 0, casts: 0, elements: 0, seconds: 0, mismatches: [], checksum: '' };
    const progress = (reached) => {
      state = reached;
      reach(state.done, state.pairs, `${state.done} of ${state.pairs} pairs: ${state.next}`);
    };
    try {
      state = await client.call('verify', settings, { progress, signal });
      const wrong = state.mismatches.length > 0;
      const end = state.stopped ? 'Stopped after' : 'Done:';
      tell(status, `${end} ${state.done} of ${state.pairs} pairs, ${wrong ? 'WRONG RESULTS' : 'no wrong result'}.`, wrong);
    } catch (error) {
      state = { ...state, error: failure(error) };
      tell(status, state.error, true);
    }
    show(page, settings, state);
  });
}

async function copy() {
  const text = element('report');
  try {
    await navigator.clipboard.writeText(text.textContent);
    tell(element('copied'), 'The report was copied.');
  } catch {
    text.parentElement.open = true;
    getSelection().selectAllChildren(text);
    tell(element('copied'), 'The browser refuses to copy. The report is selected.');
  }
}

export function start(page) {
  const form = element('verify').querySelector('form');
  element('copy').addEventListener('click', copy);
  form.addEventListener('change', clear);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    verify(page);
  });
}
