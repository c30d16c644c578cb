/** Parses timeline events, assigns them to lanes, and clusters overlapping marks. */

import { asList, asObject, asText, firstText, isObject } from '../envelope/types';
import { counted } from './text';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'running' | 'neutral';

export interface TimelineEvent {
  /** Position in the artifact, used in links. */
  position: number;
  /** Milliseconds, or null if the event has no readable time. */
  start: number | null;
  /** Equal to `start` for an instant. */
  end: number | null;
  label: string;
  detail: string;
  /** The original status text. */
  status: string;
  tone: Tone;
  lane: string;
  source: unknown;
}

export interface Timeline {
  /** Sorted by time; events without a time are last. */
  events: TimelineEvent[];
  /** Lane names in order of appearance; one empty name if there are none. */
  lanes: string[];
  start: number;
  end: number;
  warnings: string[];
}

const TONES: [Tone, RegExp][] = [
  ['good', /^(?:success|succeeded|successful|ok|okay|done|complete|completed|passed|pass|finished|accepted|approved)$/],
  ['bad', /^(?:fail|failed|failure|error|errored|critical|fatal|rejected|refused|denied|timeout|timed[ _-]?out|aborted|blocked)$/],
  ['warn', /^(?:warn|warning|partial|retry|retried|retrying|degraded|skipped|cancell?ed|escalated)$/],
  ['running', /^(?:running|active|started|in[ _-]?progress|processing|pending|queued|waiting)$/],
  ['info', /^(?:info|note|proposed|created|neutral)$/],
];

/** Maps a status to a tone; unknown statuses are neutral. */
export function statusTone(status: string): Tone {
  const word = status.trim().toLowerCase();
  return TONES.find(([, pattern]) => pattern.test(word))?.[0] ?? 'neutral';
}

/** Parses a time to milliseconds. A time without a zone is UTC, as the contract requires. */
export function readTime(value: unknown): number | null {
  if (typeof value === 'number' && Number.isFinite(value)) {
    // Smaller numbers are seconds (until the year 2286), larger ones milliseconds.
    const time = Math.abs(value) < 1e10 ? value * 1_000 : value;
    return Math.abs(time) <= 8.64e15 ? time : null;
  }
  if (typeof value !== 'string' || value.length > 64) return null;
  const text = value.trim();
  const isNaive = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/.test(text);
  const time = Date.parse(isNaive ? `${text.replace(' ', 'T')}Z` : text);
  return Number.isNaN(time) ? null : time;
}

/** Parses a timeline artifact's content. Never throws. */
export function readTimeline(content: unknown): Timeline {
  const warnings: string[] = [];
  const source = Array.isArray(content) ? { events: content } : asObject(content);
  const list = asList(source.events);
  if (source.events !== undefined && !Array.isArray(source.events)) warnings.push('"events" is not a list.');
  const events: TimelineEvent[] = [];
  let untimed = 0;
  for (const [position, one] of list.entries()) {
    const event = isObject(one) ? one : { event: asText(one) };
    const start = readTime(event.timestamp ?? event.time ?? event.start ?? event.start_time);
    if (start === null) untimed += 1;
    let end = readTime(event.end ?? event.end_time);
    if (end === null && start !== null && typeof event.duration_ms === 'number' && event.duration_ms >= 0) end = start + event.duration_ms;
    if (start !== null && end !== null && end < start) {
      warnings.push(`Event ${position + 1} ends before it starts.`);
      end = start;
    }
    const status = asText(event.status);
    events.push({
      position,
      start,
      end: end ?? start,
      label: firstText(event, 'event', 'label', 'title', 'name', 'message') || '(no label)',
      detail: firstText(event, 'details', 'detail', 'description', 'summary'),
      status,
      tone: statusTone(status),
      lane: firstText(event, 'lane', 'track', 'group'),
      source: one,
    });
  }
  if (untimed > 0) warnings.push(`${counted(untimed, 'event')} ${untimed === 1 ? 'has' : 'have'} no readable time.`);
  if (typeof source.event_count === 'number' && source.event_count !== list.length) warnings.push(`"event_count" says ${source.event_count}, there are ${list.length}.`);
  events.sort((left, right) => (left.start ?? Number.POSITIVE_INFINITY) - (right.start ?? Number.POSITIVE_INFINITY) || left.position - right.position);
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const event of events) {
    if (event.start !== null && event.start < start) start = event.start;
    if (event.end !== null && event.end > end) end = event.end;
  }
  if (start > end) {
    start = 0;
    end = 0;
  }
  return { events, lanes: [...new Set(events.map((event) => event.lane))], start, end, warnings: warnings.slice(0, 20) };
}

export interface Mark {
  /** Both are percentages of the window. */
  left: number;
  width: number;
  events: TimelineEvent[];
  tone: Tone;
}

/** A cluster shows its worst tone. */
const WEIGHT: Record<Tone, number> = { bad: 5, warn: 4, running: 3, info: 2, neutral: 1, good: 0 };

/** Lays out the marks of one lane; marks closer than `gap` percent are merged. */
export function layOutMarks(events: readonly TimelineEvent[], from: number, to: number, gap: number): Mark[] {
  const span = Math.max(to - from, 1);
  const marks: Mark[] = [];
  for (const event of events) {
    if (event.start === null || event.end === null || event.end < from || event.start > to) continue;
    const left = ((Math.max(event.start, from) - from) / span) * 100;
    const width = ((Math.min(event.end, to) - Math.max(event.start, from)) / span) * 100;
    const before = marks.at(-1);
    // Only short marks are merged; a long span keeps its shape.
    if (before !== undefined && left - (before.left + before.width) < gap && width < gap && before.width < gap * 4) {
      before.events.push(event);
      before.width = Math.max(before.width, left + width - before.left);
      if (WEIGHT[event.tone] > WEIGHT[before.tone]) before.tone = event.tone;
    } else marks.push({ left, width, events: [event], tone: event.tone });
  }
  return marks;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 15e3, 30e3, 6e4, 12e4, 3e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5, 2592e6, 7776e6, 31536e6, 15768e7];

/** Computes about `count` round times for an axis. */
export function timeTicks(from: number, to: number, count: number): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const step = STEPS.find((one) => span / one <= count) ?? span / count;
  const ticks: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to && ticks.length < 100; tick += step) ticks.push(tick);
  return ticks;
}

/** Formats a duration: `450 ms`, `12.3 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  const value = Math.abs(milliseconds);
  if (value < 1_000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1_000).toFixed(value < 10_000 && value % 1_000 !== 0 ? 1 : 0)} s`;
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ];
  const at = units.findIndex(([size]) => value >= size);
  const [size, word] = units[at] as [number, string];
  const first = Math.floor(value / size);
  const next = units[at + 1];
  const rest = next === undefined ? 0 : Math.floor((value % size) / next[0]);
  return rest === 0 || next === undefined ? `${first} ${word}` : `${first} ${word} ${rest} ${next[1]}`;
}

export type TimeMode = 'utc' | 'local' | 'relative';

const pad = (value: number, width = 2): string => String(value).padStart(width, '0');

/** Formats a time of day, with the date if `hasDate`. Relative times count from `origin`. */
export function formatTime(time: number, mode: TimeMode, origin: number, hasDate: boolean): string {
  if (mode === 'relative') return time === origin ? 'start' : `${time < origin ? '−' : '+'}${formatDuration(time - origin)}`;
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  const isUtc = mode === 'utc';
  const clock = isUtc
    ? `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`
    : `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const fraction = date.getUTCMilliseconds();
  const full = fraction === 0 ? clock : `${clock}.${pad(fraction, 3)}`;
  if (!hasDate) return full;
  const day = isUtc
    ? `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`
    : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${full}`;
}
