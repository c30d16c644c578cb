/**
 * How something is looked at: sort keys, filters, the open tab, as members of a query.
 *
 * On a page the query is the address, so that a link, a reload and Back bring the view back.
 * Each viewer has a prefix of its own (`a2.q` is the search of the third artifact), so that several
 * on one page do not meet. A viewer that no page has given a place keeps a query for itself.
 */

import { changedQuery } from '../router';

export type Changes = Record<string, string | number | null | undefined>;

/** A query that can be read and changed; reading it in an effect follows it. */
export interface Query {
  readonly search: string;
  change(changes: Changes): void;
}

export class View {
  constructor(
    private readonly query: Query,
    private readonly prefix = '',
  ) {}

  /** One member's text, or nothing. */
  get(name: string): string | null {
    return new URLSearchParams(this.query.search).get(this.prefix + name);
  }

  /** A member that is a number inside the bounds, or `otherwise`. */
  number(name: string, least: number, most: number, otherwise: number): number {
    const text = this.get(name);
    const value = text === null || text === '' ? Number.NaN : Number(text);
    return value >= least && value <= most ? value : otherwise;
  }

  /** The members whose name `isWanted`, as a query of their own. Equal text is an equal view. */
  text(isWanted: (name: string) => boolean = () => true): string {
    const found = new URLSearchParams();
    for (const [name, value] of new URLSearchParams(this.query.search)) {
      if (name.startsWith(this.prefix) && isWanted(name.slice(this.prefix.length))) found.append(name.slice(this.prefix.length), value);
    }
    return found.toString();
  }

  /** Changes some members; empty ones leave the query. */
  set(changes: Changes): void {
    this.query.change(Object.fromEntries(Object.entries(changes).map(([name, value]) => [this.prefix + name, value])));
  }

  /** Puts `members` in the place of all members whose name `isOwn`. */
  replace(isOwn: (name: string) => boolean, members: readonly [string, string][]): void {
    const before = [...new URLSearchParams(this.text(isOwn))].map(([name]): [string, null] => [name, null]);
    this.set(Object.fromEntries([...before, ...members]));
  }

  /** The view of something inside. */
  inner(name: string): View {
    return new View(this.query, `${this.prefix}${name}.`);
  }
}

/** Names as one member: `a,b`. An empty name is `~`. */
export function writeNames(names: Iterable<string>): string {
  return [...names].map((name) => (name === '' ? '~' : encodeURIComponent(name).replaceAll('~', '%7E'))).join(',');
}

export function readNames(text: string | null): string[] {
  if (text === null || text === '') return [];
  return text.split(',').map((part) => {
    try {
      return part === '~' ? '' : decodeURIComponent(part);
    } catch {
      // Not written here; it names nothing then.
      return part;
    }
  });
}

/** The names with one more, or one less. */
export function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
}

class OwnQuery implements Query {
  search = $state('');
  change(changes: Changes): void {
    this.search = changedQuery(this.search, changes);
  }
}

/** A view that lives as long as the viewer. */
export function ownView(): View {
  return new View(new OwnQuery());
}
