/** Signals grouped by layer, with consecutive duplicates merged. */

import { asObject, asText, isObject } from '../envelope/types';
import { readTime } from '../lib/timeline';

export interface Signal {
  position: number;
  type: string;
  layer: string;
  source: string;
  summary: string;
  time: number | null;
  value: unknown;
}

/** A signal and the number of consecutive repetitions. */
export interface SignalLine {
  signal: Signal;
  times: number;
  last: Signal;
}

export interface SignalLayer {
  name: string;
  count: number;
  lines: SignalLine[];
}

/** The layer order of the contract; other layers follow by name. */
export const LAYERS: readonly string[] = ['selector', 'intent', 'mission', 'aggregate'];

export function readSignals(list: readonly unknown[]): Signal[] {
  return list.map((one, position) => {
    const signal = asObject(one);
    return {
      position,
      type: asText(signal.signal_type) || (isObject(one) ? '(no type)' : asText(one, '(not a signal)')),
      layer: asText(signal.signal_layer) || 'no layer',
      source: asText(signal.signal_source),
      summary: asText(signal.summary),
      time: readTime(signal.timestamp),
      value: one,
    };
  });
}

/** Finds the list inside a signal batch artifact, because agents use different member names. */
export function batchSignals(content: unknown): unknown[] {
  if (Array.isArray(content)) return content;
  const source = asObject(content);
  for (const key of ['signals', 'signals_emitted', 'batch', 'items', 'events']) {
    const list = source[key];
    if (Array.isArray(list)) return list as unknown[];
  }
  return source.signal_type === undefined ? [] : [source];
}

/** Merges consecutive signals with the same content. */
export function foldSignals(signals: readonly Signal[]): SignalLine[] {
  const lines: SignalLine[] = [];
  for (const signal of signals) {
    const before = lines.at(-1);
    if (before !== undefined && before.signal.type === signal.type && before.signal.layer === signal.layer && before.signal.source === signal.source && before.signal.summary === signal.summary) {
      before.times += 1;
      before.last = signal;
    } else lines.push({ signal, times: 1, last: signal });
  }
  return lines;
}

export function groupSignals(signals: readonly Signal[]): SignalLayer[] {
  const layers = new Map<string, Signal[]>();
  for (const signal of signals) {
    const own = layers.get(signal.layer);
    if (own === undefined) layers.set(signal.layer, [signal]);
    else own.push(signal);
  }
  const place = (name: string): number => {
    const at = LAYERS.indexOf(name);
    return at < 0 ? LAYERS.length : at;
  };
  return [...layers]
    .sort(([left], [right]) => place(left) - place(right) || left.localeCompare(right))
    .map(([name, own]) => ({ name, count: own.length, lines: foldSignals(own) }));
}

/** Sorts by time; signals without a time keep their order at the end. */
export function chronological(signals: readonly Signal[]): SignalLine[] {
  const ordered = [...signals].sort((left, right) => (left.time ?? Number.POSITIVE_INFINITY) - (right.time ?? Number.POSITIVE_INFINITY) || left.position - right.position);
  return foldSignals(ordered);
}
