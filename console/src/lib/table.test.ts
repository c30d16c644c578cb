import { describe, expect, test } from 'vitest';
import { writeCsv } from './csv';
import { parseJson } from './json';
import { naturalKey, nextSort, readTable, TableIndex, type ColumnFilter, type SortKey } from './table';
import { tableStateFromParams, tableStateToParams, emptyTableState } from './table-state';
import { cpuTime } from './cpu-time';

const NO_FILTER: ReadonlyMap<number, ColumnFilter> = new Map();

function order(values: unknown[], sort: SortKey[]): unknown[] {
  const table = readTable({ columns: ['v'], rows: values.map((value) => [value]) });
  const found = new TableIndex(table).query({ text: '', filters: NO_FILTER, sort });
  return [...found].map((row) => values[row]);
}

describe('sorting', () => {
  test.each<[string, unknown[], unknown[], unknown[]]>([
    ['numbers', [10, 9, null, -1], [-1, 9, 10, null], [10, 9, -1, null]],
    ['text with numbers', ['item 10', 'item 9', 'Item 1'], ['Item 1', 'item 9', 'item 10'], ['item 10', 'item 9', 'Item 1']],
    ['leading zeros', ['a010', 'a9', 'a1'], ['a1', 'a9', 'a010'], ['a010', 'a9', 'a1']],
    ['beyond ascii', ['zebra', 'Ärger', 'apfel'], ['apfel', 'Ärger', 'zebra'], ['zebra', 'Ärger', 'apfel']],
    ['empty last both ways', ['', 'b', undefined, 'a', null], ['a', 'b', '', undefined, null], ['b', 'a', '', undefined, null]],
    ['mixed: numbers, then text', ['x', 2 ** 60, 1, 'a'], [1, 2 ** 60, 'a', 'x'], ['x', 'a', 2 ** 60, 1]],
    ['dates', ['2026-10-01', '2026-09-30T23:00:00Z', '2025-01-01'], ['2025-01-01', '2026-09-30T23:00:00Z', '2026-10-01'], ['2026-10-01', '2026-09-30T23:00:00Z', '2025-01-01']],
    ['booleans', [true, false], [false, true], [true, false]],
  ])('%s', (_, values, up, down) => {
    expect(order(values, [{ column: 0, isDescending: false }])).toEqual(up);
    expect(order(values, [{ column: 0, isDescending: true }])).toEqual(down);
  });

  test('is stable, and a second key decides ties', () => {
    const table = readTable({ columns: ['a', 'b'], rows: [['x', 2], ['y', 1], ['x', 1], ['x', 2]] });
    const index = new TableIndex(table);
    const sorted = (sort: SortKey[]) => [...index.query({ text: '', filters: NO_FILTER, sort })];
    expect(sorted([{ column: 0, isDescending: false }])).toEqual([0, 2, 3, 1]);
    expect(sorted([{ column: 0, isDescending: true }])).toEqual([1, 0, 2, 3]);
    expect(sorted([{ column: 0, isDescending: false }, { column: 1, isDescending: false }])).toEqual([2, 0, 3, 1]);
  });

  test('the natural key orders like the collator', () => {
    const words = ['a', 'a0', 'a1', 'a2b', 'a10', 'b', '9', '10', '100'];
    const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
    const byKey = [...words].sort((left, right) => (naturalKey(left) < naturalKey(right) ? -1 : 1));
    expect(byKey).toEqual([...words].sort(collator.compare));
  });

  test('three clicks come back to no order', () => {
    const one = nextSort([], 1, false);
    const two = nextSort(one, 1, false);
    expect([one, two, nextSort(two, 1, false)]).toEqual([[{ column: 1, isDescending: false }], [{ column: 1, isDescending: true }], []]);
    expect(nextSort(one, 2, true)).toEqual([{ column: 1, isDescending: false }, { column: 2, isDescending: false }]);
    expect(nextSort(one, 2, false)).toEqual([{ column: 2, isDescending: false }]);
  });
});

describe('filtering', () => {
  const table = readTable({
    columns: ['name', 'score', 'day'],
    rows: [
      ['Oscar Wilde', 5, '2026-01-01'],
      ['john lennon', 3, '2026-02-01T10:00:00Z'],
      [null, 10, ''],
      ['Wilder', null, '2026-03-01'],
    ],
  });
  test.each<[string, string, [number, ColumnFilter][], number[]]>([
    ['nothing', '', [], [0, 1, 2, 3]],
    ['text anywhere', ' WILD ', [], [0, 3]],
    ['no match across cells', 'wilde5', [], []],
    ['contains', '', [[0, { kind: 'contains', text: 'wilde' }]], [0, 3]],
    ['equals', '', [[0, { kind: 'equals', text: 'wilder' }]], [3]],
    ['range', '', [[1, { kind: 'range', from: '4', to: '' }]], [0, 2]],
    ['date range to the end of a day', '', [[2, { kind: 'range', from: '2026-01-15', to: '2026-02-01' }]], [1]],
    ['empty', '', [[0, { kind: 'empty' }]], [2]],
    ['filled', '', [[1, { kind: 'filled' }]], [0, 1, 2]],
    ['both', 'w', [[1, { kind: 'filled' }]], [0]],
  ])('%s', (_, text, filters, rows) => {
    expect([...new TableIndex(table).query({ text, filters: new Map(filters), sort: [] })]).toEqual(rows);
  });
});

describe('reading', () => {
  test.each<[string, unknown, number, number, RegExp | null]>([
    ['as the contract says', { columns: ['a'], rows: [['x']], row_count: 1, column_count: 1 }, 1, 1, null],
    ['described columns', { columns: [{ key: 'k', label: 'L', type: 'number' }], rows: [[1]] }, 1, 1, null],
    ['too short', { columns: ['a', 'b'], rows: [['x'], ['x', 'y']] }, 2, 2, /1 row has not 2 cells; the first is row 1/],
    ['too long', { columns: ['a'], rows: [['x', 'y', 'z']] }, 3, 1, /the first is row 1/],
    ['wrong count', { columns: ['a'], rows: [['x']], row_count: 7 }, 1, 1, /"row_count" says 7, there are 1/],
    ['objects', { rows: [{ a: 1, b: 2 }, { b: 3 }] }, 2, 2, null],
    ['scalars', { columns: ['a'], rows: [1, 'x', null] }, 1, 3, null],
    ['no columns', { rows: [[1, 2]] }, 2, 1, /No columns/],
    ['rows of the wrong type', { columns: ['a'], rows: 'x' }, 1, 0, /"rows" is not a list/],
    ['nothing', null, 0, 0, null],
    ['text', 'x', 0, 0, null],
    ['names twice', { columns: ['a', 'a'], rows: [[1, 2]] }, 2, 1, null],
  ])('%s', (_, content, columns, rows, warning) => {
    const table = readTable(content);
    expect(table.columns).toHaveLength(columns);
    expect(table.rows).toHaveLength(rows);
    expect(new Set(table.columns.map((column) => column.key)).size).toBe(columns);
    if (warning === null) expect(table.warnings).toEqual([]);
    else expect(table.warnings.join(' ')).toMatch(warning);
  });

  test.each([
    [[1, 2, null], 'integer'],
    [[1, 2.5], 'number'],
    [[true, false], 'boolean'],
    [['2026-01-01', '2026-01-02T03:04:05Z'], 'date'],
    [['https://a.test/x'], 'url'],
    [['a', 1], 'text'],
    [[null], 'text'],
  ])('%j is %s', (values, type) => {
    expect(readTable({ columns: ['v'], rows: values.map((value) => [value]) }).columns[0]?.type).toBe(type);
  });
});

test('a view survives the link', () => {
  const { columns } = readTable({ columns: ['-x', 'a,b', 'c'], rows: [[1, 2, 3]] });
  const state = {
    ...emptyTableState(),
    text: 'foo & bar',
    sort: [{ column: 0, isDescending: true }, { column: 1, isDescending: false }],
    filters: [[2, { kind: 'range', from: '1', to: '' }], [1, { kind: 'contains', text: 'a..b' }]] as [number, ColumnFilter][],
    hidden: [1],
    isWrapped: true,
  };
  const link = new URLSearchParams(tableStateToParams(state, columns)).toString();
  expect(tableStateFromParams(new URLSearchParams(link), columns)).toEqual(state);
  expect(tableStateFromParams([['sort', 'gone,%'], ['f.gone', '~x'], ['f.c', 'nonsense']], columns)).toEqual(emptyTableState());
});

test('50,000 rows are sorted and filtered in time', () => {
  const rows = Array.from({ length: 50_000 }, (_, at) => [at, `name ${(at * 7919) % 50_000}`, Math.sin(at), `Überschrift ${at % 977}`]);
  const index = new TableIndex(readTable({ columns: ['id', 'name', 'value', 'title'], rows }));
  index.prepare();
  // The limit allows for a busy machine; the browser measurement has the real one.
  expect(cpuTime(() => index.query({ text: '', filters: NO_FILTER, sort: [{ column: 1, isDescending: false }] }))).toBeLessThan(1_500);
  expect(cpuTime(() => index.query({ text: 'name 77', filters: NO_FILTER, sort: [] }))).toBeLessThan(400);
});

test('numbers that JavaScript would round keep their digits', () => {
  const table = readTable(parseJson('{"columns":["n"],"rows":[[9007199254740993],[5],[-12345678901234567890]]}'));
  expect(table.columns[0]?.type).toBe('integer');
  expect([...new TableIndex(table).query({ text: '', filters: NO_FILTER, sort: [{ column: 0, isDescending: false }] })]).toEqual([2, 1, 0]);
  expect([...new TableIndex(table).query({ text: '740993', filters: NO_FILTER, sort: [] })]).toEqual([0]);
  expect(writeCsv(['n'], table.rows, { isSpreadsheetSafe: true })).toContain('\r\n-12345678901234567890\r\n');
});
