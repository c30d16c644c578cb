/** Which page an address names. Pure; `location.svelte.ts` holds where the browser is. */

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

// In this order; a parameter takes one segment.
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

/** A segment as text, or nothing when its escapes are broken. */
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

/** The page of a path such as `/r/018f/a/2`. */
export function route(path: string): Route {
  const plain = path.length > 1 ? path.replace(/\/+$/, '') : path;
  for (const [pattern, page] of PATTERNS) {
    const parameters = parametersOf(pattern, plain);
    if (parameters !== null) return { page, parameters };
  }
  return { page: 'unknown', parameters: {} };
}

/** A path of the given segments, each escaped: `href('r', id)`. */
export function href(...segments: (string | number)[]): string {
  return `/${segments.map((segment) => encodeURIComponent(String(segment))).join('/')}`;
}

/** Servers and mail programs cut longer addresses. */
const LONGEST = 4_000;

/** A query that fits into an address: its longest members leave it until it does. */
export function shortened(search: string): string {
  if (search.length <= LONGEST) return search;
  const members = [...new URLSearchParams(search)].sort(([, one], [, other]) => one.length - other.length);
  let text = search;
  while (text.length > LONGEST) {
    members.pop();
    text = `?${new URLSearchParams(members)}`;
  }
  return text === '?' ? '' : text;
}

/** The query of an address with some members changed; empty ones leave it. */
export function changedQuery(search: string, changes: Record<string, string | number | null | undefined>): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
