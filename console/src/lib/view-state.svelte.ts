/**
 * View state, such as sort keys, filters and the open tab, stored in a query.
 *
 * On a page the query is the address, so that a link, a reload and Back restore the view. Each viewer on a page has
 * its own prefix (`a2.q` is the search of the third artifact). A viewer outside of a page has a query of its own.
 */

import { changedQuery } from '../router';

export type Changes = Record<string, string | number | null | undefined>;

/** A query to read and change. Reading it in an effect subscribes to changes. */
export interface Query {
  readonly search: string;
  change(changes: Changes): void;
}

export class View {
  constructor(
    private readonly query: Query,
    private readonly prefix = '',
  ) {}

  /** Reads one member, or an empty text. */
  get(name: string): string | null {
    return new URLSearchParams(this.query.search).get(this.prefix + name);
  }

  /** Reads a numeric member inside the bounds, or returns `otherwise`. */
  number(name: string, least: number, most: number, otherwise: number): number {
    const text = this.get(name);
    const value = text === null || text === '' ? Number.NaN : Number(text);
    return value >= least && value <= most ? value : otherwise;
  }

  /** Selects the members whose name `isWanted` accepts, as a query of their own. Equal text means an equal view. */
  text(isWanted: (name: string) => boolean = () => true): string {
    const found = new URLSearchParams();
    for (const [name, value] of new URLSearchParams(this.query.search)) {
      if (name.startsWith(this.prefix) && isWanted(name.slice(this.prefix.length))) found.append(name.slice(this.prefix.length), value);
    }
    return found.toString();
  }

  /** Changes some members; empty values remove them. */
  set(changes: Changes): void {
    this.query.change(Object.fromEntries(Object.entries(changes).map(([name, value]) => [this.prefix + name, value])));
  }

  /** Replaces all members whose name `isOwn` accepts by `members`. */
  replace(isOwn: (name: string) => boolean, members: readonly [string, string][]): void {
    const before = [...new URLSearchParams(this.text(isOwn))].map(([name]): [string, null] => [name, null]);
    this.set(Object.fromEntries([...before, ...members]));
  }

  /** Returns the view state of a nested viewer. */
  inner(name: string): View {
    return new View(this.query, `${this.prefix}${name}.`);
  }
}

/** Serializes names to one member: `a,b`. An empty name becomes `~`. */
export function writeNames(names: Iterable<string>): string {
  return [...names].map((name) => (name === '' ? '~' : encodeURIComponent(name).replaceAll('~', '%7E'))).join(',');
}

export function readNames(text: string | null): string[] {
  if (text === null || text === '') return [];
  return text.split(',').map((part) => {
    try {
      return part === '~' ? '' : decodeURIComponent(part);
    } catch {
      // An invalid escape, not written by this console, matches nothing.
      return part;
    }
  });
}

/** Adds a name to the list, or removes it. */
export function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
}

class OwnQuery implements Query {
  search = $state('');
  change(changes: Changes): void {
    this.search = changedQuery(this.search, changes);
  }
}

/** Creates view state that lives as long as the viewer. */
export function ownView(): View {
  return new View(new OwnQuery());
}
