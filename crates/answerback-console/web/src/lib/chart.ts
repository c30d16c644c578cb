/** A chart's data made regular, with its words and its table. */

import { asList, asObject, asText, isObject } from '../envelope/types';
import { ExactNumber, writeJson } from './json';
import { counted } from './text';

export type ChartKind = 'line' | 'bar' | 'pie' | 'scatter';

export interface Series {
  label: string;
  /** One value a label; null where there is none. */
  values: (number | null)[];
  /** For scatter: the points themselves. */
  points: { x: number; y: number }[];
}

export interface ChartData {
  kind: ChartKind;
  labels: string[];
  series: Series[];
  isStacked: boolean;
  isArea: boolean;
  xTitle: string;
  yTitle: string;
  warnings: string[];
  /** False when nothing can be drawn; the table is shown instead. */
  isDrawable: boolean;
}

const KINDS: Record<string, ChartKind> = { line: 'line', area: 'line', bar: 'bar', column: 'bar', pie: 'pie', doughnut: 'pie', donut: 'pie', scatter: 'scatter', bubble: 'scatter' };
const MOST_POINTS = 200_000;

function readNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value instanceof ExactNumber) return readNumber(value.source);
  if (typeof value === 'string' && value.trim() !== '') {
    const number = Number(value);
    return Number.isFinite(number) ? number : null;
  }
  return null;
}

/** Reads a chart artifact's content. Never throws. */
export function readChart(content: unknown): ChartData {
  const source = asObject(content);
  const data = asObject(source.data);
  const warnings: string[] = [];
  const givenKind = asText(source.chart_type).toLowerCase();
  const kind = Object.hasOwn(KINDS, givenKind) ? (KINDS[givenKind] as ChartKind) : 'bar';
  if (!Object.hasOwn(KINDS, givenKind)) warnings.push(`Unknown chart type "${givenKind}": drawn as bars.`);
  if (source.data !== undefined && !isObject(source.data)) warnings.push('"data" is not an object.');

  const labels = asList(data.labels).slice(0, MOST_POINTS).map((label) => (isObject(label) || Array.isArray(label) ? writeJson(label, 0, 200) : asText(label)));
  const sets = asList(data.datasets);
  if (data.datasets !== undefined && !Array.isArray(data.datasets)) warnings.push('"datasets" is not a list.');
  const hasLabels = Array.isArray(data.labels);
  let longest = labels.length;
  let lost = 0;
  const series: Series[] = sets.slice(0, 50).map((one, at) => {
    const set = asObject(one);
    const raw = asList(set.data).slice(0, MOST_POINTS);
    const values: (number | null)[] = [];
    const points: { x: number; y: number }[] = [];
    for (const [place, item] of raw.entries()) {
      if (isObject(item) || Array.isArray(item)) {
        const x = readNumber(isObject(item) ? item.x : item[0]);
        const y = readNumber(isObject(item) ? item.y : item[1]);
        values.push(y);
        if (x !== null && y !== null) points.push({ x, y });
        else lost += 1;
      } else {
        const y = readNumber(item);
        values.push(y);
        if (y === null && item !== null && item !== undefined) lost += 1;
        const x = readNumber(labels[place]) ?? place;
        if (y !== null) points.push({ x, y });
      }
    }
    const label = asText(set.label) || `Series ${at + 1}`;
    if (hasLabels && kind !== 'scatter' && values.length !== labels.length) {
      warnings.push(`"${label}" has ${counted(values.length, 'value')} for ${counted(labels.length, 'label')}.`);
    }
    longest = Math.max(longest, values.length);
    return { label, values, points };
  });
  if (sets.length > 50) warnings.push(`Only the first 50 of ${sets.length} series are shown.`);
  if (lost > 0) warnings.push(`${counted(lost, 'value')} ${lost === 1 ? 'is' : 'are'} not a finite number.`);
  if (kind === 'pie' && series.some((one) => one.values.some((value) => value !== null && value < 0))) warnings.push('A pie cannot show negative values.');
  while (labels.length < longest) labels.push(String(labels.length + 1));
  const hasValues = series.some((one) => (kind === 'scatter' ? one.points.length > 0 : one.values.some((value) => value !== null)));
  if (!hasValues) warnings.push('There is nothing to draw.');
  const isNegativePie = kind === 'pie' && series.some((one) => one.values.some((value) => value !== null && value < 0));
  return {
    kind,
    labels,
    series,
    isStacked: source.stacked === true || data.stacked === true,
    isArea: givenKind === 'area',
    xTitle: axisTitle(source, 'x'),
    yTitle: axisTitle(source, 'y'),
    warnings,
    isDrawable: hasValues && !isNegativePie,
  };
}

function axisTitle(source: Record<string, unknown>, axis: 'x' | 'y'): string {
  const given = source[axis];
  const direct = asText(given) || asText(source[`${axis}_label`]);
  if (direct !== '') return direct;
  const { label, unit } = asObject(given);
  return [asText(label), asText(unit) === '' ? '' : `(${asText(unit)})`].filter((part) => part !== '').join(' ');
}

const WORDS: Record<ChartKind, string> = { line: 'Line chart', bar: 'Bar chart', pie: 'Pie chart', scatter: 'Scatter chart' };

/** What the drawing shows, for those who do not see it. */
export function describeChart(chart: ChartData, title: string): string {
  const parts: string[] = [`${WORDS[chart.kind]}${title === '' ? '' : `, ${title}`}.`];
  for (const series of chart.series.slice(0, 6)) {
    if (chart.kind === 'scatter') {
      if (series.points.length === 0) continue;
      const [x, y] = [extent(series.points.map((point) => point.x)), extent(series.points.map((point) => point.y))];
      parts.push(`${series.label}: ${counted(series.points.length, 'point')}, x from ${x[0]} to ${x[1]}, y from ${y[0]} to ${y[1]}.`);
      continue;
    }
    const filled = series.values.flatMap((value, at) => (value === null ? [] : [{ value, label: chart.labels[at] ?? '' }]));
    const first = filled[0];
    const last = filled.at(-1);
    if (first === undefined || last === undefined) continue;
    if (chart.kind === 'pie') {
      const total = filled.reduce((sum, one) => sum + one.value, 0);
      const largest = [...filled].sort((left, right) => right.value - left.value).slice(0, 3);
      parts.push(`${series.label}: ${counted(filled.length, 'slice')}; ${largest.map((one) => `${one.label} ${total === 0 ? 0 : Math.round((one.value / total) * 100)} %`).join(', ')}.`);
      continue;
    }
    const highest = filled.reduce((best, one) => (one.value > best.value ? one : best), first);
    const lowest = filled.reduce((best, one) => (one.value < best.value ? one : best), first);
    parts.push(`${series.label}: ${counted(filled.length, 'point')}, ${first.label} ${first.value} to ${last.label} ${last.value}, highest ${highest.value} at ${highest.label}, lowest ${lowest.value} at ${lowest.label}.`);
  }
  if (chart.series.length > 6) parts.push(`And ${counted(chart.series.length - 6, 'more series', 'more series')}.`);
  return parts.join(' ');
}

function extent(values: readonly number[]): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** The same data as a table. */
export function chartTable(chart: ChartData): { columns: string[]; rows: unknown[][] } {
  if (chart.kind === 'scatter') {
    return { columns: ['Series', 'x', 'y'], rows: chart.series.flatMap((series) => series.points.map((point) => [series.label, point.x, point.y])) };
  }
  return {
    columns: [chart.xTitle || 'Label', ...chart.series.map((series) => series.label)],
    rows: chart.labels.map((label, at) => [label, ...chart.series.map((series) => series.values[at] ?? null)]),
  };
}
