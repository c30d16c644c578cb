/** The view state of a table and its form in a link's query. */

import type { Column, ColumnFilter, SortKey } from './table';
import { readNames, writeNames } from './view-state.svelte';

export interface TableState {
  text: string;
  sort: SortKey[];
  filters: [number, ColumnFilter][];
  hidden: number[];
  isWrapped: boolean;
  isCompact: boolean;
  isFirstPinned: boolean;
  /** The first visible row, counted in filtered rows. */
  row: number;
}

export function emptyTableState(): TableState {
  return { text: '', sort: [], filters: [], hidden: [], isWrapped: false, isCompact: false, isFirstPinned: false, row: 0 };
}

/** Serializes the state to query members, such as `q=foo&sort=-score,name&f.author=~wilde&hide=tags`. */
export function tableStateToParams(state: TableState, columns: readonly Column[]): [string, string][] {
  const params: [string, string][] = [];
  const key = (column: number): string | undefined => columns[column]?.key;
  if (state.text !== '') params.push(['q', state.text]);
  const sort = state.sort.flatMap((one) => {
    const name = key(one.column);
    return name === undefined ? [] : [`${one.isDescending ? '-' : ''}${encodeURIComponent(name)}`];
  });
  if (sort.length > 0) params.push(['sort', sort.join(',')]);
  for (const [column, filter] of state.filters) {
    const name = key(column);
    if (name !== undefined) params.push([`f.${name}`, filterToText(filter)]);
  }
  const hidden = state.hidden.flatMap((column) => key(column) ?? []);
  if (hidden.length > 0) params.push(['hide', writeNames(hidden)]);
  const look = [state.isWrapped ? 'wrap' : '', state.isCompact ? 'compact' : '', state.isFirstPinned ? 'pin' : ''].filter((word) => word !== '');
  if (look.length > 0) params.push(['look', look.join(',')]);
  if (state.row > 0) params.push(['row', String(state.row)]);
  return params;
}

/** True if a query member belongs to the table. */
export function isTableParam(name: string): boolean {
  return ['q', 'sort', 'hide', 'look', 'row'].includes(name) || name.startsWith('f.');
}

/** Parses a link's query; unknown columns are ignored. */
export function tableStateFromParams(params: Iterable<[string, string]>, columns: readonly Column[]): TableState {
  const state = emptyTableState();
  const place = new Map(columns.map((column, at) => [column.key, at]));
  for (const [name, value] of params) {
    if (name === 'q') state.text = value;
    else if (name === 'sort') {
      for (const part of value.split(',')) {
        const isDescending = part.startsWith('-') && !place.has(decode(part));
        const column = place.get(decode(isDescending ? part.slice(1) : part));
        if (column !== undefined) state.sort.push({ column, isDescending });
      }
    } else if (name === 'hide') {
      for (const key of readNames(value)) {
        const column = place.get(key);
        if (column !== undefined) state.hidden.push(column);
      }
    } else if (name === 'look') {
      const words = value.split(',');
      state.isWrapped = words.includes('wrap');
      state.isCompact = words.includes('compact');
      state.isFirstPinned = words.includes('pin');
    } else if (name === 'row') {
      if (/^\d{1,9}$/.test(value)) state.row = Number(value);
    } else if (name.startsWith('f.')) {
      const column = place.get(name.slice(2));
      const filter = filterFromText(value);
      if (column !== undefined && filter !== null) state.filters.push([column, filter]);
    }
  }
  return state;
}

function filterToText(filter: ColumnFilter): string {
  switch (filter.kind) {
    case 'contains':
      return `~${filter.text}`;
    case 'equals':
      return `=${filter.text}`;
    case 'range':
      return `${filter.from}..${filter.to}`;
    case 'empty':
      return '!';
    case 'filled':
      return '*';
  }
}

function filterFromText(text: string): ColumnFilter | null {
  if (text.startsWith('~')) return { kind: 'contains', text: text.slice(1) };
  if (text.startsWith('=')) return { kind: 'equals', text: text.slice(1) };
  if (text === '!') return { kind: 'empty' };
  if (text === '*') return { kind: 'filled' };
  const dots = text.indexOf('..');
  return dots < 0 ? null : { kind: 'range', from: text.slice(0, dots), to: text.slice(dots + 2) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
