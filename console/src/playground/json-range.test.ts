import { expect, it } from 'vitest';
import { rangeOfPointer } from './json-range';

const text = '{"a": [1, {"b/c": "x,}"}], "d": {"a": true}, "e": ""}';

it.each([
  ['', text],
  ['/a', '[1, {"b/c": "x,}"}]'],
  ['/a/0', '1'],
  ['/a/1', '{"b/c": "x,}"}'],
  ['/a/1/b~1c', '"x,}"'],
  ['/d', '{"a": true}'],
  ['/d/a', 'true'],
  ['/e', '""'],
])('finds %j', (pointer, expected) => {
  const place = rangeOfPointer(text, pointer);
  expect(place && text.slice(place.from, place.to)).toBe(expected);
});

it.each(['/x', '/a/7', '/d/b', '/e/a'])('finds nothing at %j', (pointer) => {
  expect(rangeOfPointer(text, pointer)).toBeNull();
});

it('does not stumble over broken text', () => {
  expect(rangeOfPointer('{"a": [1', '/a/0')).not.toBeNull();
  expect(rangeOfPointer('{a', '/a')).toBeNull();
  expect(rangeOfPointer('', '')).toBeNull();
});
