import { expect, test } from 'vitest';
import cases from '../../../conformance/charts/readings.json';
import { chartTable, describeChart, readChart, type ChartData } from './chart';
import { parseExactly } from './json';

const SALES = { chart_type: 'line', data: { labels: ['Jan', 'Feb', 'Mar'], datasets: [{ label: 'Sales', data: [100, 200, 150] }] } };

/** Parses a chart that must be supported. */
function read(content: unknown): ChartData {
  const chart = readChart(content);
  if (chart === null) throw new Error('not understood');
  return chart;
}

interface Case {
  name: string;
  content: unknown;
  reading: { kind: string; is_unknown?: boolean; labels: string[]; series: [string, ([number, number] | null)[]][]; x_title?: string; y_title?: string; not_numbers?: number } | null;
}
const CASES = cases as unknown as Case[];

test.each(CASES)('charts are read as the terminal reads them: $name', ({ content, reading }) => {
  // Numbers come from the server as text, and large ones stay text.
  const chart = readChart(parseExactly(JSON.stringify(content)));
  if (reading === null) {
    expect(chart).toBeNull();
    return;
  }
  const { is_unknown = false, x_title = '', y_title = '', not_numbers = 0 } = reading;
  expect(chart).toMatchObject({ kind: reading.kind, isKindKnown: !is_unknown, labels: reading.labels, xTitle: x_title, yTitle: y_title, notNumbers: not_numbers });
  expect(chart?.series.map((series) => [series.label, series.points.map((point) => point && [point.x, point.y])])).toEqual(reading.series);
});

test('the seed example reads, speaks and tabulates', () => {
  const chart = read(SALES);
  expect(chart).toMatchObject({ kind: 'line', warnings: [] });
  expect(describeChart(chart, 'Revenue')).toBe('Line chart, Revenue. Sales: 3 points, Jan 100 to Mar 150, highest 200 at Feb, lowest 100 at Jan.');
  expect(chartTable(chart)).toEqual({ columns: ['Label', 'Sales'], rows: [['Jan', 100], ['Feb', 200], ['Mar', 150]] });
});

test('points of numbers keep their places', () => {
  const line = read({ chart_type: 'line', data: { datasets: [{ label: 'S', data: [{ x: 10, y: 1 }, { x: 30, y: 2 }] }] } });
  expect(chartTable(line)).toEqual({ columns: ['Series', 'x', 'y'], rows: [['S', 10, 1], ['S', 30, 2]] });
  expect(describeChart(line, '')).toBe('Line chart. S: 2 points, x from 10 to 30, y from 1 to 2.');
  const named = read({ chart_type: 'scatter', data: [['a', 1], ['b', 2]] });
  expect(chartTable(named).rows).toEqual([['', 'a', 1], ['', 'b', 2]]);
  expect(describeChart(named, '')).toBe('Scatter chart. 2 points, a to b, y from 1 to 2.');
});

test('a pie speaks of shares', () => {
  const pie = read({ chart_type: 'pie', data: { labels: ['a', 'b'], datasets: [{ data: [3, 1] }] } });
  expect(describeChart(pie, '')).toMatch(/a 75 %, b 25 %/);
});

test.each<[string, unknown, RegExp]>([
  ['an unknown type', { ...SALES, chart_type: 'radar' }, /Unknown chart type "radar": drawn as bars/],
  ['too few values', { chart_type: 'bar', data: { labels: ['a', 'b'], datasets: [{ label: 'x', data: [1] }] } }, /1 value for 2 labels/],
  ['not numbers', { chart_type: 'bar', data: { labels: ['a', 'b', 'c'], datasets: [{ data: ['x', 'y', 1] }] } }, /2 values are not a finite number/],
  ['many series', { chart_type: 'bar', data: { datasets: Array.from({ length: 60 }, () => [1]) } }, /first 50 of 60 series/],
])('%s warns', (_, content, warning) => {
  const chart = read(content);
  expect(chart.warnings.join(' ')).toMatch(warning);
  expect(() => [chartTable(chart), describeChart(chart, 't')]).not.toThrow();
});

test.each<[string, unknown]>([
  ['null', null],
  ['wrong types', { chart_type: [], data: { labels: 5, datasets: 'x' } }],
  ['hostile labels', { chart_type: '__proto__', data: { labels: [{ toString: 1 }], datasets: [null, 5] } }],
  ['a number that overflows', { chart_type: 'bar', data: [1e999] }],
])('%s is not drawn', (_, content) => {
  expect(readChart(content)).toBeNull();
});
