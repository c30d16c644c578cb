/** Maps addresses to pages. These functions are pure; `location.svelte.ts` holds the state. */

export type PageName =
  | 'inbox'
  | 'replies'
  | 'reply'
  | 'artifact'
  | 'live'
  | 'stream'
  | 'tools'
  | 'tool'
  | 'agents'
  | 'ledger'
  | 'entry'
  | 'playground'
  | 'settings'
  | 'unknown';

export interface Route {
  page: PageName;
  parameters: Record<string, string>;
}

// Matched in this order; a parameter matches one segment.
const PATTERNS: [string, PageName][] = [
  ['/', 'inbox'],
  ['/inbox', 'inbox'],
  ['/inbox/:id', 'inbox'],
  ['/replies', 'replies'],
  ['/r/:id', 'reply'],
  ['/r/:id/a/:position', 'artifact'],
  ['/live', 'live'],
  ['/live/:stream', 'stream'],
  ['/tools', 'tools'],
  ['/tools/:server/:name', 'tool'],
  ['/agents', 'agents'],
  ['/ledger', 'ledger'],
  ['/ledger/:index', 'entry'],
  ['/playground', 'playground'],
  ['/settings', 'settings'],
];

/** Decodes a segment; returns nothing for malformed escapes. */
function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function parametersOf(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const parameters: Record<string, string> = {};
  for (const [position, segment] of wanted.entries()) {
    const value = decoded(given[position] ?? '');
    if (value === null) return null;
    if (segment.startsWith(':')) {
      if (value === '') return null;
      parameters[segment.slice(1)] = value;
    } else if (segment !== value) {
      return null;
    }
  }
  return parameters;
}

/** Parses a path such as `/r/018f/a/2`. */
export function route(path: string): Route {
  const plain = path.length > 1 ? path.replace(/\/+$/, '') : path;
  for (const [pattern, page] of PATTERNS) {
    const parameters = parametersOf(pattern, plain);
    if (parameters !== null) return { page, parameters };
  }
  return { page: 'unknown', parameters: {} };
}

/** Builds a path and escapes each segment: `href('r', id)`. */
export function href(...segments: (string | number)[]): string {
  return `/${segments.map((segment) => encodeURIComponent(String(segment))).join('/')}`;
}

/** Servers and mail programs truncate longer addresses. */
const MAX_ADDRESS_LENGTH = 4_000;

/** Shortens a query to fit an address by removing the longest members first. */
export function shortened(search: string): string {
  if (search.length <= MAX_ADDRESS_LENGTH) return search;
  const members = [...new URLSearchParams(search)].sort(([, one], [, other]) => one.length - other.length);
  let text = search;
  while (text.length > MAX_ADDRESS_LENGTH) {
    members.pop();
    text = `?${new URLSearchParams(members)}`;
  }
  return text === '?' ? '' : text;
}

/** Changes some members of a query; empty values remove them. */
export function changedQuery(search: string, changes: Record<string, string | number | null | undefined>): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
