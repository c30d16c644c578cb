import { expect, it } from 'vitest';
import { absolute, duration, relative } from './time';

it('writes an absolute time in UTC', () => {
  expect(absolute('2026-11-16T10:46:45.123+01:00', 'utc')).toBe('2026-11-16 09:46:45 UTC');
  expect(absolute('no time', 'utc')).toBe('no time');
});

it.each([
  [0, '0 s'],
  [59, '59 s'],
  [61, '1 min 1 s'],
  [7_500, '2 h 5 min'],
  [90_000, '1 d 1 h'],
  [864_000, '10 d'],
  [-5, '0 s'],
])('writes %d seconds as %s', (seconds, words) => {
  expect(duration(seconds)).toBe(words);
});

it('writes times relative to now', () => {
  const now = Date.parse('2026-11-16T10:00:00Z');
  expect(relative('2026-11-16T09:59:58Z', now)).toBe('just now');
  expect(relative('2026-11-16T09:55:00Z', now)).toBe('5 min ago');
  expect(relative('2026-11-16T12:00:00Z', now)).toBe('in 2 h');
});
