// Element types by their names.

import { described } from './arguments.js';

/** The type of a name in a list of types with `name` and `aliases`. */
export function typeNamed(types, name) {
  if (typeof name !== 'string') throw new TypeError(`an element type is named by a string, got ${described(name)}`);
  const simple = name.toLowerCase().replaceAll(/[-_]/g, '');
  const found = types.find((type) => type.name === simple || type.aliases.includes(simple));
  if (!found) throw new TypeError(`unknown element type ${JSON.stringify(name)}`);
  return found;
}
