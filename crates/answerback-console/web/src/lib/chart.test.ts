import { expect, test } from 'vitest';
import { chartTable, describeChart, readChart } from './chart';

const SALES = { chart_type: 'line', data: { labels: ['Jan', 'Feb', 'Mar'], datasets: [{ label: 'Sales', data: [100, 200, 150] }] } };

test('the seed example reads, speaks and tabulates', () => {
  const chart = readChart(SALES);
  expect(chart).toMatchObject({ kind: 'line', warnings: [], isDrawable: true });
  expect(describeChart(chart, 'Revenue')).toBe('Line chart, Revenue. Sales: 3 points, Jan 100 to Mar 150, highest 200 at Feb, lowest 100 at Jan.');
  expect(chartTable(chart)).toEqual({ columns: ['Label', 'Sales'], rows: [['Jan', 100], ['Feb', 200], ['Mar', 150]] });
});

test('scatter and pie', () => {
  const scatter = readChart({ chart_type: 'scatter', data: { datasets: [{ label: 'S', data: [{ x: 1, y: 2 }, [3, 4], { x: 'a', y: 1 }] }] } });
  expect(scatter.series[0]?.points).toEqual([{ x: 1, y: 2 }, { x: 3, y: 4 }]);
  expect(scatter.warnings.join()).toMatch(/1 value is not a finite number/);
  const pie = readChart({ chart_type: 'pie', data: { labels: ['a', 'b'], datasets: [{ data: [3, 1] }] } });
  expect(describeChart(pie, '')).toMatch(/a 75 %, b 25 %/);
});

test.each<[string, unknown, RegExp, boolean]>([
  ['an unknown type', { ...SALES, chart_type: 'radar' }, /Unknown chart type/, true],
  ['too few values', { chart_type: 'bar', data: { labels: ['a', 'b'], datasets: [{ label: 'x', data: [1] }] } }, /1 value for 2 labels/, true],
  ['not numbers', { chart_type: 'bar', data: { labels: ['a', 'b'], datasets: [{ data: ['x', 1e999] }] } }, /2 values are not a finite number/, false],
  ['negative pie', { chart_type: 'pie', data: { labels: ['a'], datasets: [{ data: [-1] }] } }, /negative/, false],
  ['nothing', {}, /nothing to draw/, false],
  ['null', null, /nothing to draw/, false],
  ['wrong types', { chart_type: [], data: { labels: 5, datasets: 'x' } }, /"datasets" is not a list/, false],
  ['hostile labels', { chart_type: '__proto__', data: { labels: [{ toString: 1 }], datasets: [null, 5] } }, /Unknown chart type/, false],
])('%s warns', (_, content, warning, isDrawable) => {
  const chart = readChart(content);
  expect(chart.warnings.join(' ')).toMatch(warning);
  expect(chart.isDrawable).toBe(isDrawable);
  expect(() => [chartTable(chart), describeChart(chart, 't')]).not.toThrow();
});
