import { expect, test } from 'vitest';
import { formatDuration, formatTime, layOutMarks, readTime, readTimeline, timeTicks, statusTone } from './timeline';

test.each<[unknown, string | null]>([
  ['2026-02-07T20:07:15.000000Z', '2026-02-07T20:07:15.000Z'],
  ['2026-02-07T20:07:15', '2026-02-07T20:07:15.000Z'],
  ['2026-02-07 20:07', '2026-02-07T20:07:00.000Z'],
  ['2026-02-07T20:07:15+02:00', '2026-02-07T18:07:15.000Z'],
  [1_770_000_000, '2026-02-02T02:40:00.000Z'],
  [1_770_000_000_000, '2026-02-02T02:40:00.000Z'],
  [1e300, null],
  ['yesterday', null],
  [null, null],
  [{}, null],
])('%j is read as %s', (value, iso) => {
  const time = readTime(value);
  expect(time === null ? null : new Date(time).toISOString()).toBe(iso);
});

test.each([
  ['success', 'good'],
  ['FAILED', 'bad'],
  ['in_progress', 'running'],
  ['retry', 'warn'],
  ['proposed', 'info'],
  ['sideways', 'neutral'],
  ['', 'neutral'],
])('%s is %s', (status, tone) => {
  expect(statusTone(status)).toBe(tone);
});

test('events are ordered by time, unreadable ones last', () => {
  const timeline = readTimeline({
    events: [
      { timestamp: 'x', event: 'never' },
      { timestamp: '2026-01-01T00:00:02Z', label: 'second', duration_ms: 500 },
      { timestamp: '2026-01-01T00:00:01Z', event: 'first', end: '2026-01-01T00:00:00Z' },
      'only text',
      null,
    ],
    event_count: 9,
  });
  expect(timeline.events.map((event) => event.label)).toEqual(['first', 'second', 'never', 'only text', '(no label)']);
  expect(timeline.end - timeline.start).toBe(1_500);
  expect(timeline.warnings).toEqual(['Event 3 ends before it starts.', '3 events have no readable time.', '"event_count" says 9, there are 5.']);
});

test.each([null, 5, 'x', {}, { events: 'x' }, { events: [[], {}, 7, true] }, []])('%j does not throw', (content) => {
  expect(() => readTimeline(content)).not.toThrow();
});

test('close marks become one, with the worst tone', () => {
  const { events } = readTimeline({
    events: [
      { timestamp: 0.001, status: 'ok' },
      { timestamp: 0.002, status: 'failed' },
      { timestamp: 100, status: 'ok' },
    ],
  });
  const marks = layOutMarks(events, 0, 100_000, 0.5);
  expect(marks.map((mark) => [mark.events.length, mark.tone])).toEqual([[2, 'bad'], [1, 'good']]);
  expect(layOutMarks(events, 90_000, 110_000, 0.5)).toHaveLength(1);
});

test.each([
  [450, '450 ms'],
  [1_500, '1.5 s'],
  [45_000, '45 s'],
  [245_000, '4 min 5 s'],
  [7_200_000, '2 h'],
  [90_000_000, '1 d 1 h'],
])('%d is %s', (value, words) => {
  expect(formatDuration(value)).toBe(words);
});

test('times in each mode', () => {
  const time = Date.parse('2026-02-07T20:07:15.250Z');
  expect(formatTime(time, 'utc', 0, true)).toBe('2026-02-07 20:07:15.250');
  expect(formatTime(time, 'relative', time - 30_000, false)).toBe('+30 s');
  expect(formatTime(Number.NaN, 'utc', 0, false)).toBe('');
});

test('ticks are round and few', () => {
  expect(timeTicks(0, 60_000, 6)).toEqual([0, 15_000, 30_000, 45_000, 60_000]);
  expect(timeTicks(5, 5, 6)).toEqual([5]);
  expect(timeTicks(0, 8e15, 6).length).toBeLessThan(100);
});
