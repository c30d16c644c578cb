/** Formats times: absolute in the chosen zone, and relative to now. */

import type { TimeZone } from '../settings.svelte';

/** Formats a time such as `2026-11-16 09:46:45 UTC`; returns unreadable text unchanged. */
export function absolute(time: string, zone: TimeZone): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone === 'utc' ? 'UTC' : undefined,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).formatToParts(date);
  const part = (name: Intl.DateTimeFormatPartTypes): string => parts.find((one) => one.type === name)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`;
}

/** Formats the calendar day for list headings: `Monday, 16 November 2026`. */
export function day(time: string, zone: TimeZone): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return 'Unknown day';
  return new Intl.DateTimeFormat('en-GB', { timeZone: zone === 'utc' ? 'UTC' : undefined, weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }).format(date);
}

const UNITS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Formats a duration in its largest one or two units: `2 h 5 min`. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const words: string[] = [];
  for (const [size, name] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0 || (size === 1 && words.length === 0)) {
      words.push(`${count} ${name}`);
      rest -= count * size;
    }
    if (words.length === 2 || (words.length === 1 && size >= 86_400 && count >= 7)) break;
  }
  return words.join(' ');
}

/** Formats a relative time: `5 min ago` or `in 5 min`. */
export function relative(time: string, now: number): string {
  const seconds = (now - new Date(time).getTime()) / 1_000;
  if (Number.isNaN(seconds)) return time;
  if (Math.abs(seconds) < 5) return 'just now';
  const unit = UNITS.find(([size]) => Math.abs(seconds) >= size) ?? [1, 's'];
  const words = `${Math.floor(Math.abs(seconds) / unit[0])} ${unit[1]}`;
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}
