/** JSON Patch (RFC 6902). A patch applies completely or not at all, and its input stays unchanged. */

import { isObject } from '../envelope/types';
import { ExactNumber, setMember } from './json';

export type PatchResult = { isApplied: true; value: unknown } | { isApplied: false; problem: string };

const MAX_OPERATIONS = 10_000;

class PatchProblem extends Error {}

/** Applies `patch` to `document`; a problem names the failing operation. */
export function applyPatch(document: unknown, patch: unknown): PatchResult {
  if (!Array.isArray(patch)) return { isApplied: false, problem: 'the patch is not a list of operations' };
  if (patch.length > MAX_OPERATIONS) return { isApplied: false, problem: `the patch has more than ${MAX_OPERATIONS} operations` };
  let value = document;
  for (const [at, operation] of patch.entries()) {
    try {
      value = step(value, operation);
    } catch (error) {
      return { isApplied: false, problem: `patch operation ${at}: ${error instanceof Error ? error.message : 'failed'}` };
    }
  }
  return { isApplied: true, value };
}

function step(document: unknown, operation: unknown): unknown {
  if (!isObject(operation)) throw new PatchProblem('is not an object');
  const path = readPointer(operation.path, 'path');
  switch (operation.op) {
    case 'add':
      return put(document, path, need(operation), 'add');
    case 'replace':
      return put(document, path, need(operation), 'replace');
    case 'remove':
      return remove(document, path);
    case 'move': {
      const from = readPointer(operation.from, 'from');
      if (path.length > from.length && from.every((part, at) => part === path[at])) throw new PatchProblem('moves a value into itself');
      return put(remove(document, from), path, find(document, from), 'add');
    }
    case 'copy':
      return put(document, path, find(document, readPointer(operation.from, 'from')), 'add');
    case 'test':
      if (!isSame(find(document, path), need(operation))) throw new PatchProblem('test failed');
      return document;
    default:
      throw new PatchProblem('has an unknown "op"');
  }
}

function need(operation: Record<string, unknown>): unknown {
  if (!Object.hasOwn(operation, 'value')) throw new PatchProblem('has no "value"');
  return operation.value;
}

function readPointer(pointer: unknown, name: string): string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) throw new PatchProblem(`"${name}" is no JSON Pointer`);
  if (pointer === '') return [];
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function position(part: string, length: number): number {
  if (!/^(?:0|[1-9]\d*)$/.test(part)) throw new PatchProblem(`"${part}" is no list position`);
  const at = Number(part);
  if (at >= length) throw new PatchProblem(`position ${part} does not exist`);
  return at;
}

function find(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const part of path) {
    if (Array.isArray(value)) value = value[position(part, value.length)] as unknown;
    else if (isObject(value) && Object.hasOwn(value, part)) value = value[part];
    else throw new PatchProblem(`"${part}" does not exist`);
  }
  return value;
}

/** Copies the containers along `path` and lets `change` modify the innermost copy. */
function along(document: unknown, path: readonly string[], change: (container: unknown[] | Record<string, unknown>, last: string) => void): unknown {
  const copy = (value: unknown): unknown[] | Record<string, unknown> => {
    if (Array.isArray(value)) return [...(value as unknown[])];
    if (isObject(value)) return { ...value };
    throw new PatchProblem('the path goes through a value that holds nothing');
  };
  const root = copy(document);
  let container = root;
  for (const part of path.slice(0, -1)) {
    const inner = copy(find(container, [part]));
    if (Array.isArray(container)) container[position(part, container.length)] = inner;
    else setMember(container, part, inner);
    container = inner;
  }
  change(container, path[path.length - 1] as string);
  return root;
}

function put(document: unknown, path: readonly string[], value: unknown, mode: 'add' | 'replace'): unknown {
  if (path.length === 0) return value;
  return along(document, path, (container, last) => {
    if (Array.isArray(container)) {
      if (mode === 'replace') container[position(last, container.length)] = value;
      else if (last === '-') container.push(value);
      else container.splice(position(last, container.length + 1), 0, value);
    } else {
      if (mode === 'replace' && !Object.hasOwn(container, last)) throw new PatchProblem(`"${last}" does not exist`);
      setMember(container, last, value);
    }
  });
}

function remove(document: unknown, path: readonly string[]): unknown {
  if (path.length === 0) throw new PatchProblem('removes the whole document');
  return along(document, path, (container, last) => {
    if (Array.isArray(container)) container.splice(position(last, container.length), 1);
    else if (Object.hasOwn(container, last)) delete container[last];
    else throw new PatchProblem(`"${last}" does not exist`);
  });
}

/** Compares JSON values deeply without recursion. */
function isSame(left: unknown, right: unknown): boolean {
  const pending: [unknown, unknown][] = [[left, right]];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [a, b] = pair;
    if (a === b || (a instanceof ExactNumber && b instanceof ExactNumber && a.source === b.source)) continue;
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false;
      for (let at = 0; at < a.length; at += 1) pending.push([a[at], b[at]]);
    } else if (isObject(a) && isObject(b)) {
      const keys = Object.keys(a);
      if (keys.length !== Object.keys(b).length) return false;
      for (const key of keys) {
        if (!Object.hasOwn(b, key)) return false;
        pending.push([a[key], b[key]]);
      }
    } else return false;
  }
  return true;
}
