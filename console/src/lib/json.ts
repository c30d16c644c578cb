/**
 * JSON for display: a parser and writer that preserve all digits, and the rows of the tree viewer.
 *
 * Nothing here recurses over data, because a reply may nest 100,000 levels.
 */

import { cut } from './text';

/** A number that exceeds JavaScript's precision, with its source digits. */
export class ExactNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

export class JsonSyntaxError extends Error {
  /** Offset in the text. */
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.at = at;
  }
}

type Open = { list: unknown[] } | { object: Record<string, unknown>; key: string };

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\r\n]*/y;
// A string up to its first escape or its end; the ordinary case is one match.
// eslint-disable-next-line no-control-regex
const PLAIN_STRING = /"[^"\\\u0000-\u001f]*"/y;

/** True if conversion to a JavaScript number loses digits. */
export function isInexact(source: string): boolean {
  const value = Number(source);
  if (!Number.isFinite(value)) return true;
  return /^-?\d+$/.test(source) ? !Number.isSafeInteger(value) : false;
}

/** Parses JSON in slices, so that a large text does not block the page. */
export function* parseJsonInSlices(text: string, slice = 20_000): Generator<number, unknown, void> {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const open: Open[] = [];
  let steps = 0;

  const space = (): void => {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    at = SPACE.lastIndex;
  };
  const fail = (expected: string): never => {
    const found = at >= text.length ? 'the end of the text' : JSON.stringify(text.charAt(at));
    throw new JsonSyntaxError(`expected ${expected}, found ${found}`, at);
  };
  const string = (): string => {
    PLAIN_STRING.lastIndex = at;
    if (PLAIN_STRING.test(text)) {
      const value = text.slice(at + 1, PLAIN_STRING.lastIndex - 1);
      at = PLAIN_STRING.lastIndex;
      return value;
    }
    let end = at + 1;
    for (;;) {
      const quote = text.indexOf('"', end);
      if (quote < 0) {
        at = text.length;
        fail('a closing quote');
      }
      let slashes = 0;
      while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes += 1;
      end = quote + 1;
      if (slashes % 2 === 0) break;
    }
    try {
      const value = JSON.parse(text.slice(at, end)) as string;
      at = end;
      return value;
    } catch {
      return fail('a valid string');
    }
  };

  for (;;) {
    // Parse one value.
    space();
    let value: unknown;
    let isOpened = false;
    const character = text.charAt(at);
    if (character === '{') {
      at += 1;
      space();
      const object: Record<string, unknown> = {};
      value = object;
      if (text.charAt(at) === '}') at += 1;
      else {
        if (text.charAt(at) !== '"') fail('a member name or "}"');
        const key = string();
        space();
        if (text.charAt(at) !== ':') fail('":"');
        at += 1;
        open.push({ object, key });
        isOpened = true;
      }
    } else if (character === '[') {
      at += 1;
      space();
      const list: unknown[] = [];
      value = list;
      if (text.charAt(at) === ']') at += 1;
      else {
        open.push({ list });
        isOpened = true;
      }
    } else if (character === '"') value = string();
    else if (text.startsWith('true', at)) {
      value = true;
      at += 4;
    } else if (text.startsWith('false', at)) {
      value = false;
      at += 5;
    } else if (text.startsWith('null', at)) {
      value = null;
      at += 4;
    } else {
      NUMBER.lastIndex = at;
      const match = NUMBER.exec(text);
      if (match === null) return fail('a value');
      const source = match[0];
      value = isInexact(source) ? new ExactNumber(source) : Number(source);
      at = NUMBER.lastIndex;
    }
    steps += 1;
    if (steps % slice === 0) yield at;
    if (isOpened) continue;

    // Add it to the open container, and close the containers that end here.
    for (;;) {
      const inner = open.at(-1);
      if (inner === undefined) {
        space();
        if (at < text.length) fail('the end of the text');
        return value;
      }
      if ('list' in inner) inner.list.push(value);
      else setMember(inner.object, inner.key, value);
      space();
      const next = text.charAt(at);
      if (next === ',') {
        at += 1;
        if ('object' in inner) {
          space();
          if (text.charAt(at) !== '"') fail('a member name');
          inner.key = string();
          space();
          if (text.charAt(at) !== ':') fail('":"');
          at += 1;
        }
        break;
      }
      const closing = 'list' in inner ? ']' : '}';
      if (next !== closing) fail(`"," or "${closing}"`);
      at += 1;
      value = 'list' in inner ? inner.list : inner.object;
      open.pop();
    }
  }
}

/** Parses JSON synchronously. Throws `JsonSyntaxError`. */
export function parseJson(text: string): unknown {
  const parsing = parseJsonInSlices(text, Number.MAX_SAFE_INTEGER);
  for (;;) {
    const step = parsing.next();
    if (step.done === true) return step.value;
  }
}

/** Matches text that needs `parseJson`: sixteen consecutive digits, or an exponent of three digits. */
const HARD_NUMBER = /\d{16}|\d[eE]\+?\d{3}/;

/** Parses like `parseJson`, but uses the faster `JSON.parse` if no digits can be lost. */
export function parseExactly(text: string): unknown {
  return HARD_NUMBER.test(text) ? parseJson(text) : JSON.parse(text);
}

/** Sets a member, even one called `__proto__`. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

/** Serializes a value with the digits of exact numbers, up to about `limit` characters. */
export function writeJson(value: unknown, indent = 2, limit = Number.POSITIVE_INFINITY): string {
  type Frame = { entries: [string, unknown][] | null; list: readonly unknown[] | null; next: number };
  const pieces: string[] = [];
  const frames: Frame[] = [];
  let length = 0;
  const put = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  const line = (depth: number): string => (indent === 0 ? '' : `\n${' '.repeat(Math.min(depth * indent, 200))}`);
  const begin = (one: unknown): void => {
    if (one instanceof ExactNumber) put(one.source);
    else if (Array.isArray(one)) {
      if (one.length === 0) put('[]');
      else {
        put('[');
        frames.push({ entries: null, list: one, next: 0 });
      }
    } else if (typeof one === 'object' && one !== null) {
      const entries = Object.entries(one);
      if (entries.length === 0) put('{}');
      else {
        put('{');
        frames.push({ entries, list: null, next: 0 });
      }
    } else put(scalarText(one));
  };
  begin(value);
  while (frames.length > 0) {
    if (length > limit) {
      put('…');
      break;
    }
    const frame = frames[frames.length - 1] as Frame;
    const size = frame.entries?.length ?? frame.list?.length ?? 0;
    if (frame.next >= size) {
      frames.pop();
      put(`${line(frames.length)}${frame.list === null ? '}' : ']'}`);
      continue;
    }
    put(`${frame.next > 0 ? ',' : ''}${line(frames.length)}`);
    const at = frame.next;
    frame.next += 1;
    if (frame.entries !== null) {
      const entry = frame.entries[at] as [string, unknown];
      put(`${JSON.stringify(entry[0])}:${indent === 0 ? '' : ' '}`);
      begin(entry[1]);
    } else begin(frame.list?.[at]);
  }
  return pieces.join('');
}

function scalarText(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return 'null';
  }
}

export type NodeKind = 'object' | 'list' | 'string' | 'number' | 'boolean' | 'null' | 'other';

/** A node of the tree. Its children are created on first use. */
export class JsonNode {
  readonly parent: JsonNode | null;
  /** Member name or list index; null for the root. */
  readonly key: string | number | null;
  readonly value: unknown;
  readonly depth: number;
  isOpen = false;
  #children: JsonNode[] | null = null;

  constructor(parent: JsonNode | null, key: string | number | null, value: unknown) {
    this.parent = parent;
    this.key = key;
    this.value = value;
    this.depth = parent === null ? 0 : parent.depth + 1;
  }

  get kind(): NodeKind {
    const { value } = this;
    if (value === null) return 'null';
    if (value instanceof ExactNumber || typeof value === 'bigint') return 'number';
    if (Array.isArray(value)) return 'list';
    switch (typeof value) {
      case 'object':
        return 'object';
      case 'string':
        return 'string';
      case 'number':
        return 'number';
      case 'boolean':
        return 'boolean';
      default:
        return 'other';
    }
  }

  get size(): number {
    const { value } = this;
    if (Array.isArray(value)) return value.length;
    if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
      return this.#children?.length ?? Object.keys(value).length;
    }
    return 0;
  }

  get isBranch(): boolean {
    return this.size > 0;
  }

  get children(): readonly JsonNode[] {
    if (this.#children === null) {
      const { value } = this;
      if (Array.isArray(value)) this.#children = value.map((one, at) => new JsonNode(this, at, one));
      else if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
        this.#children = Object.entries(value).map(([key, one]) => new JsonNode(this, key, one));
      } else this.#children = [];
    }
    return this.#children;
  }

  /** The node's JSON Pointer (RFC 6901). */
  get pointer(): string {
    const parts: string[] = [];
    for (let node: JsonNode | null = this; node !== null && node.key !== null; node = node.parent) {
      parts.push(String(node.key).replaceAll('~', '~0').replaceAll('/', '~1'));
    }
    return parts.reverse().map((part) => `/${part}`).join('');
  }

  /** The ancestors from the root, including this node. */
  get trail(): JsonNode[] {
    const trail: JsonNode[] = [];
    for (let node: JsonNode | null = this; node !== null; node = node.parent) trail.push(node);
    return trail.reverse();
  }

  /** A note if a program would compute with a different number than the displayed one. */
  get remark(): string {
    if (this.value instanceof ExactNumber) return 'beyond 2^53: shown from the source text, a JavaScript program would round it';
    if (typeof this.value === 'number' && Number.isInteger(this.value) && !Number.isSafeInteger(this.value)) {
      return 'beyond 2^53: the last digits may have been rounded';
    }
    return '';
  }

  /** Formats a leaf as JSON text, or describes a branch briefly. */
  label(limit = 400): string {
    switch (this.kind) {
      case 'object':
        return this.size === 0 ? '{}' : `{ ${this.size} }`;
      case 'list':
        return this.size === 0 ? '[]' : `[ ${this.size} ]`;
      case 'string': {
        const text = this.value as string;
        return text.length > limit ? `${JSON.stringify(cut(text, limit)).slice(0, -1)}…` : JSON.stringify(text);
      }
      case 'number':
        return this.value instanceof ExactNumber ? this.value.source : String(this.value);
      default:
        return String(this.value);
    }
  }
}

/** Lists the visible rows: every node whose ancestors are all open. */
export function visibleNodes(root: JsonNode): JsonNode[] {
  const rows: JsonNode[] = [];
  const pending: JsonNode[] = [root];
  while (pending.length > 0) {
    const node = pending.pop() as JsonNode;
    rows.push(node);
    if (!node.isOpen) continue;
    const { children } = node;
    for (let at = children.length - 1; at >= 0; at -= 1) pending.push(children[at] as JsonNode);
  }
  return rows;
}

/** Opens branches breadth first until about `limit` rows are visible. */
export function openToSize(root: JsonNode, limit: number): void {
  let rows = 1;
  let level: JsonNode[] = root.isBranch ? [root] : [];
  root.isOpen = root.isBranch;
  rows += root.size;
  while (level.length > 0 && rows < limit) {
    const next: JsonNode[] = [];
    for (const node of level) {
      for (const child of node.children) {
        if (!child.isBranch) continue;
        if (rows + child.size > limit) continue;
        child.isOpen = true;
        rows += child.size;
        next.push(child);
      }
      if (rows >= limit) break;
    }
    level = next;
  }
}

/** Opens or closes all descendants of `node`. */
export function setAllOpen(node: JsonNode, isOpen: boolean): void {
  const pending: JsonNode[] = [node];
  while (pending.length > 0) {
    const one = pending.pop() as JsonNode;
    if (!one.isBranch) continue;
    one.isOpen = isOpen;
    for (const child of one.children) pending.push(child);
  }
}

/** Finds up to `limit` nodes whose name or value contains `text`, in document order. */
export function searchNodes(root: JsonNode, text: string, limit = 10_000): JsonNode[] {
  const needle = text.toLowerCase();
  const found: JsonNode[] = [];
  if (needle === '') return found;
  const pending: JsonNode[] = [root];
  while (pending.length > 0 && found.length < limit) {
    const node = pending.pop() as JsonNode;
    const isMatch =
      (typeof node.key === 'string' && node.key.toLowerCase().includes(needle)) ||
      (!node.isBranch && (typeof node.value === 'string' ? node.value : node.label()).toLowerCase().includes(needle));
    if (isMatch) found.push(node);
    if (!node.isBranch) continue;
    const { children } = node;
    for (let at = children.length - 1; at >= 0; at -= 1) pending.push(children[at] as JsonNode);
  }
  return found;
}

/** Finds the node at a JSON Pointer, or returns null. */
export function nodeAt(root: JsonNode, pointer: string): JsonNode | null {
  let node: JsonNode | undefined = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    node = node.children.find((child) => String(child.key) === key);
    if (node === undefined) return null;
  }
  return node;
}

/** Opens the ancestors of `node`, so that it becomes visible. */
export function revealNode(node: JsonNode): void {
  for (let one = node.parent; one !== null; one = one.parent) one.isOpen = true;
}
