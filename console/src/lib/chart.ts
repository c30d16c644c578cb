/**
 * Parses a chart's data and describes it in words and as a table.
 *
 * Only these shapes are drawn; others are shown as a tree, because a guess would draw wrong numbers:
 *
 * - `{"labels": […], "datasets": [{"label": …, "data": […]}]}`, the form of the contract;
 * - a list of values;
 * - an object of names with numbers, such as `{"Jan": 3, "Feb": 5}`.
 *
 * A value is a number, null for a gap, a point `{"x" or "label" or "name", "y" or "value"}`, or on a line or scatter
 * chart a pair `[x, y]`. Either all points of a chart have an x position or none has.
 *
 * `answerback show` uses the same rules; `conformance/charts/readings.json` tests both.
 */

import { asList, asObject, asText, isObject } from '../envelope/types';
import { ExactNumber, writeJson } from './json';
import { counted } from './text';

export type ChartKind = 'line' | 'bar' | 'pie' | 'scatter';

export interface Point {
  x: number;
  y: number;
}

export interface Series {
  label: string;
  /** One value per label, null for a gap. Empty for a numeric x axis and for scatter charts. */
  values: (number | null)[];
  /** The points with their x position, null for a gap. A whole x is the index of a label if there are labels. */
  points: (Point | null)[];
}

export interface ChartData {
  kind: ChartKind;
  /** False if the chart's type is unknown. */
  isKindKnown: boolean;
  /** Empty for a numeric x axis. */
  labels: string[];
  series: Series[];
  isStacked: boolean;
  isArea: boolean;
  xTitle: string;
  yTitle: string;
  /** The number of text values in place of a number. */
  notNumbers: number;
  warnings: string[];
}

const KINDS: Record<string, ChartKind> = { line: 'line', area: 'line', bar: 'bar', column: 'bar', pie: 'pie', doughnut: 'pie', donut: 'pie', scatter: 'scatter', bubble: 'scatter' };
const MAX_SERIES = 50;
/** Larger values cannot be subtracted from each other, so they have no position on an axis. */
const LARGEST = 1e300;
const MAX_NUMBER_LENGTH = 40;
const DECIMAL = /^[ \t\n\f\r]*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?[ \t\n\f\r]*$/i;

/** Parses a finite number, also one written as text. */
function readNumber(value: unknown): number | null {
  let number: number;
  if (typeof value === 'number') number = value;
  else if (value instanceof ExactNumber) number = Number(value.source);
  else if (typeof value === 'string' && value.length <= MAX_NUMBER_LENGTH && DECIMAL.test(value)) number = Number(value);
  else return null;
  return Number.isFinite(number) ? number : null;
}

const isNumeric = (value: unknown): boolean => typeof value === 'number' || value instanceof ExactNumber;
const isPlace = (value: unknown): boolean => isNumeric(value) || typeof value === 'string';

/** One value of a series. `x` is absent if the value has no x position. */
interface Item {
  x?: unknown;
  y: number | null;
  isText: boolean;
}

/** Returns null for an unsupported shape. */
function readY(value: unknown): { y: number | null; isText: boolean } | null {
  if (value === null) return { y: null, isText: false };
  if (!isPlace(value)) return null;
  const y = readNumber(value);
  if (y === null) return isNumeric(value) ? null : { y, isText: true };
  return Math.abs(y) > LARGEST ? null : { y, isText: false };
}

/** Returns null for an unsupported shape. */
function readItem(value: unknown, takesPairs: boolean): Item | null {
  let x: unknown = null;
  let given = value;
  if (Array.isArray(value)) {
    if (!takesPairs || value.length !== 2) return null;
    [x, given] = value as [unknown, unknown];
    if (!isPlace(x)) return null;
  } else if (isObject(value)) {
    const name = ['x', 'label', 'name'].find((one) => Object.hasOwn(value, one));
    x = name === undefined ? null : value[name];
    const member = Object.hasOwn(value, 'y') ? 'y' : 'value';
    if (!Object.hasOwn(value, member) || (x !== null && !isPlace(x))) return null;
    given = value[member];
  }
  const read = readY(given);
  if (read === null) return null;
  return x === null ? read : { ...read, x };
}

interface Dataset {
  label: string;
  items: Item[];
}

/** Returns all of them, or null if one has an unsupported shape. */
function all<Read>(values: readonly unknown[], read: (value: unknown, at: number) => Read | null): Read[] | null {
  const found: Read[] = [];
  for (const [at, value] of values.entries()) {
    const one = read(value, at);
    if (one === null) return null;
    found.push(one);
  }
  return found;
}

function readDataset(set: unknown, at: number, takesPairs: boolean): Dataset | null {
  const source = Array.isArray(set) ? { data: set } : set;
  if (!isObject(source) || !Array.isArray(source.data)) return null;
  const items = all(source.data, (value) => readItem(value, takesPairs));
  if (items === null) return null;
  const unit = asText(source.unit);
  const name = asText(source.label) || asText(source.name);
  return { label: name === '' ? `Series ${at + 1}` : unit === '' ? name : `${name} (${unit})`, items };
}

function readSets(data: unknown, takesPairs: boolean): { labels: unknown[]; sets: Dataset[] } | null {
  if (Array.isArray(data)) {
    const items = all(data, (value) => readItem(value, takesPairs));
    return items && { labels: [], sets: [{ label: '', items }] };
  }
  if (!isObject(data)) return null;
  if (Object.hasOwn(data, 'datasets')) {
    if (!Array.isArray(data.datasets)) return null;
    const sets = all(data.datasets, (set, at) => readDataset(set, at, takesPairs));
    return sets && { labels: asList(data.labels), sets };
  }
  // Parses an object of names with numbers. A member of another shape means that it is not one.
  const items = all(Object.values(data), (value) => {
    const read = readY(value);
    return read === null || read.isText ? null : read;
  });
  return items && { labels: Object.keys(data), sets: [{ label: '', items }] };
}

/** Returns the same key for equal positions on an axis: the same number or the same text. */
function keyOf(value: unknown): string | null {
  const number = readNumber(value);
  if (number !== null) return `n${number + 0}`;
  return typeof value === 'string' ? `t${value}` : null;
}

const point = (x: number, y: number | null): Point | null => (y === null ? null : { x, y });

/** Assigns an x position to every value; null if that is ambiguous. */
function place(kind: ChartKind, given: unknown[], sets: Dataset[]): { labels: string[]; series: Series[] } | null {
  const labels = given.map((label) => (isObject(label) || Array.isArray(label) ? writeJson(label, 0, 200) : asText(label)));
  const items = sets.flatMap((set) => set.items);
  if (items.every((item) => item.x === undefined)) {
    const longest = Math.max(0, ...sets.map((set) => set.items.length));
    while (labels.length < longest) labels.push(String(labels.length + 1));
    return { labels, series: sets.map(({ label, items: own }) => inOrder(label, labels.map((_, at) => own[at]?.y ?? null))) };
  }
  if (!items.every((item) => item.x !== undefined || (item.y === null && !item.isText))) return null;
  if (given.length === 0 && (kind === 'line' || kind === 'scatter') && items.every((item) => item.x === undefined || readNumber(item.x) !== null)) {
    const series = all(sets, (set) => {
      const { label, items: own } = set as Dataset;
      const points: (Point | null)[] = [];
      for (const { x, y } of own) {
        const at = x === undefined ? 0 : (readNumber(x) ?? 0);
        if (Math.abs(at) > LARGEST) return null;
        points.push(x === undefined ? null : point(at, y));
      }
      return { label, values: [], points };
    });
    return series && { labels: [], series };
  }
  const places = new Map<string, number>();
  for (const [at, label] of given.entries()) {
    const key = keyOf(label);
    if (key !== null && !places.has(key)) places.set(key, at);
  }
  const series: { label: string; found: [number, number | null][] }[] = [];
  for (const { label, items: own } of sets) {
    const found: [number, number | null][] = [];
    const seen = new Set<number>();
    for (const { x, y } of own) {
      if (x === undefined) continue;
      const key = keyOf(x);
      if (key === null) return null;
      let at = places.get(key);
      if (at === undefined) {
        // A position outside of the labels belongs to another axis.
        if (given.length > 0) return null;
        at = labels.push(asText(x)) - 1;
        places.set(key, at);
      }
      // A line or a bar could show only one of two values at the same position.
      if (seen.has(at) && kind !== 'scatter') return null;
      seen.add(at);
      found.push([at, y]);
    }
    series.push({ label, found });
  }
  return {
    labels,
    series: series.map(({ label, found }) => {
      if (kind === 'scatter') return { label, values: [], points: found.map(([at, y]) => point(at, y)) };
      const values: (number | null)[] = labels.map(() => null);
      for (const [at, y] of found) values[at] = y;
      return inOrder(label, values);
    }),
  };
}

function inOrder(label: string, values: (number | null)[]): Series {
  return { label, values, points: values.map((y, x) => point(x, y)) };
}

/** Parses a chart artifact's content. Returns null if its shape is unsupported or it has no data. Never throws. */
export function readChart(content: unknown): ChartData | null {
  const source = asObject(content);
  const data = asObject(source.data);
  const word = typeof source.chart_type === 'string' ? source.chart_type : '';
  const given = word.toLowerCase();
  const isKindKnown = Object.hasOwn(KINDS, given);
  // Unknown types are drawn as bars, which imply nothing between two values.
  const kind = isKindKnown ? (KINDS[given] as ChartKind) : 'bar';
  const read = readSets(source.data, kind === 'line' || kind === 'scatter');
  const placed = read && place(kind, read.labels, read.sets);
  if (!placed) return null;
  const { labels, series } = placed;
  const ys = series.flatMap((one) => one.points.flatMap((each) => (each === null ? [] : [each.y])));
  // A share of a whole cannot be negative.
  if (ys.length === 0 || (kind === 'pie' && ys.some((y) => y < 0))) return null;

  const warnings: string[] = [];
  if (!isKindKnown) warnings.push(`Unknown chart type "${word}": drawn as bars.`);
  const count = read.labels.length;
  for (const { label, items } of read.sets) {
    const isInOrder = items.every((item) => item.x === undefined);
    if (count > 0 && isInOrder && items.length !== count) warnings.push(`"${label}" has ${counted(items.length, 'value')} for ${counted(count, 'label')}.`);
  }
  if (series.length > MAX_SERIES) warnings.push(`Only the first ${MAX_SERIES} of ${series.length} series are shown.`);
  const notNumbers = read.sets.reduce((sum, set) => sum + set.items.filter((item) => item.isText).length, 0);
  if (notNumbers > 0) warnings.push(`${counted(notNumbers, 'value')} ${notNumbers === 1 ? 'is' : 'are'} not a finite number.`);
  return {
    kind,
    isKindKnown,
    labels,
    series: series.slice(0, MAX_SERIES),
    isStacked: source.stacked === true || data.stacked === true,
    isArea: given === 'area',
    xTitle: axisTitle(source, data, 'x'),
    yTitle: axisTitle(source, data, 'y'),
    notNumbers,
    warnings,
  };
}

function axisTitle(source: Record<string, unknown>, data: Record<string, unknown>, axis: 'x' | 'y'): string {
  const places = [source, data];
  const named = places.map((one) => asText(one[`${axis}_label`])).find((text) => text !== '');
  const option = places.map((one) => asText(asObject(asObject(asObject(asObject(one.options).scales)[axis]).title).text)).find((text) => text !== '');
  const name = named ?? option ?? '';
  const unit = axis === 'y' ? (places.map((one) => asText(one.unit)).find((text) => text !== '') ?? '') : '';
  return name === '' ? unit : unit === '' ? name : `${name} (${unit})`;
}

const WORDS: Record<ChartKind, string> = { line: 'Line chart', bar: 'Bar chart', pie: 'Pie chart', scatter: 'Scatter chart' };

/** Describes the drawing in words, for screen readers. */
export function describeChart(chart: ChartData, title: string): string {
  const parts: string[] = [`${WORDS[chart.kind]}${title === '' ? '' : `, ${title}`}.`];
  for (const series of chart.series.slice(0, 6)) {
    const name = series.label === '' ? '' : `${series.label}: `;
    if (isOfPoints(chart)) {
      const points = series.points.filter((each) => each !== null);
      if (points.length === 0) continue;
      const [x, y] = [extent(points.map((each) => each.x)), extent(points.map((each) => each.y))];
      const along = chart.labels.length > 0 ? `${chart.labels[x[0]]} to ${chart.labels[x[1]]}` : `x from ${x[0]} to ${x[1]}`;
      parts.push(`${name}${counted(points.length, 'point')}, ${along}, y from ${y[0]} to ${y[1]}.`);
      continue;
    }
    const filled = series.values.flatMap((value, at) => (value === null ? [] : [{ value, label: chart.labels[at] ?? '' }]));
    const first = filled[0];
    const last = filled.at(-1);
    if (first === undefined || last === undefined) continue;
    if (chart.kind === 'pie') {
      const total = filled.reduce((sum, one) => sum + one.value, 0);
      const largest = [...filled].sort((left, right) => right.value - left.value).slice(0, 3);
      parts.push(`${name}${counted(filled.length, 'slice')}; ${largest.map((one) => `${one.label} ${total === 0 ? 0 : Math.round((one.value / total) * 100)} %`).join(', ')}.`);
      continue;
    }
    const highest = filled.reduce((best, one) => (one.value > best.value ? one : best), first);
    const lowest = filled.reduce((best, one) => (one.value < best.value ? one : best), first);
    parts.push(`${name}${counted(filled.length, 'point')}, ${first.label} ${first.value} to ${last.label} ${last.value}, highest ${highest.value} at ${highest.label}, lowest ${lowest.value} at ${lowest.label}.`);
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

/** True if the points hold the chart's data; otherwise the values by label do. */
export function isOfPoints(chart: ChartData): boolean {
  return chart.kind === 'scatter' || chart.labels.length === 0;
}

/** Converts the chart's data to a table. */
export function chartTable(chart: ChartData): { columns: string[]; rows: unknown[][] } {
  if (isOfPoints(chart)) {
    const at = (x: number): unknown => (chart.labels.length > 0 ? chart.labels[x] : x);
    return {
      columns: ['Series', chart.xTitle || 'x', chart.yTitle || 'y'],
      rows: chart.series.flatMap((series) => series.points.flatMap((each) => (each === null ? [] : [[series.label, at(each.x), each.y]]))),
    };
  }
  return {
    columns: [chart.xTitle || 'Label', ...chart.series.map((series) => series.label || chart.yTitle || 'Value')],
    rows: chart.labels.map((label, at) => [label, ...chart.series.map((series) => series.values[at] ?? null)]),
  };
}
