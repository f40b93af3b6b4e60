// The view that shows kernels.

import { client } from '../client.js';
import { element, failure, tell } from '../dom.js';

const KEYWORDS = 'alias|array|bitcast|break|case|const|const_assert|continue|continuing|default|diagnostic|discard|else|enable|fn|for|if|let|loop|override|requires|return|struct|switch|var|while';
const TYPES = 'bool|f32|i32|u32|vec[234]|atomic|true|false';

const TOKENS = new RegExp([
  '(?<comment>//[^\\n]*)',
  `\\b(?<keyword>${KEYWORDS})\\b`,
  `\\b(?<type>${TYPES})\\b`,
  '\\b(?<number>0x[0-9a-f]+u?|[0-9]+[uif]?)\\b',
].join('|'), 'g');

/** The text with its tokens in spans. */
function highlight(text) {
  const parts = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    parts.append(text.slice(end, match.index));
    const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    const span = document.createElement('span');
    span.className = kind === 'number' ? 'number-literal' : kind;
    span.textContent = match[0];
    parts.append(span);
    end = match.index + match[0].length;
  }
  parts.append(text.slice(end));
  return parts;
}

/** The number of the last request. Answers to others are late. */
let last = 0;

async function show() {
  const request = last += 1;
  const parameters = {
    from: element('kernel-from').value,
    to: element('kernel-to').value,
    variant: element('variant').value,
    options: { saturate: element('kernel-saturate').checked },
  };
  element('wgsl').ariaBusy = 'true';
  const answer = await client.call('kernel', parameters).catch((error) => ({ error }));
  if (request !== last) return;
  element('wgsl').ariaBusy = 'false';
  tell(element('kernel-status'), answer.error ? failure(answer.error) : '', true);
  element('wgsl').replaceChildren(answer.error ? '' : highlight(answer));
}

export function start() {
  [element('kernel-from').value, element('kernel-to').value] = ['float', 'float8e4m3fn'];
  element('kernels').querySelector('form').addEventListener('change', show);
  show();
}
