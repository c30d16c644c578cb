/** Compares two JSON values member by member. */

import { isObject } from '../envelope/types';
import { ExactNumber } from '../lib/json';

export interface Change {
  /** A JSON Pointer; empty for the root. */
  path: string;
  kind: 'added' | 'removed' | 'changed';
  before?: unknown;
  after?: unknown;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !(value instanceof ExactNumber);
}

function isSame(before: unknown, after: unknown): boolean {
  if (before instanceof ExactNumber || after instanceof ExactNumber) {
    return before instanceof ExactNumber && after instanceof ExactNumber && before.source === after.source;
  }
  return before === after;
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Lists the changes from `before` to `after`, in document order. */
export function changes(before: unknown, after: unknown): Change[] {
  const found: Change[] = [];
  // A stack replaces recursion because arguments may nest to any depth.
  const open: { path: string; before: unknown; after: unknown }[] = [{ path: '', before, after }];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const { path } = pair;
    const areObjects = isPlain(pair.before) && isPlain(pair.after);
    const areLists = Array.isArray(pair.before) && Array.isArray(pair.after);
    if (!areObjects && !areLists) {
      if (!isSame(pair.before, pair.after)) found.push({ path, kind: 'changed', before: pair.before, after: pair.after });
      continue;
    }
    const left = pair.before as Record<string, unknown>;
    const right = pair.after as Record<string, unknown>;
    const inner: typeof open = [];
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const place = `${path}/${escaped(name)}`;
      if (!Object.hasOwn(right, name)) found.push({ path: place, kind: 'removed', before: left[name] });
      else if (!Object.hasOwn(left, name)) found.push({ path: place, kind: 'added', after: right[name] });
      else inner.push({ path: place, before: left[name], after: right[name] });
    }
    open.push(...inner.reverse());
  }
  return found;
}
