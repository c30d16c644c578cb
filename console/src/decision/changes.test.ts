import { expect, it } from 'vitest';
import { ExactNumber } from '../lib/json';
import { changes } from './changes';

it('finds nothing between equals', () => {
  expect(changes({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toEqual([]);
  expect(changes(new ExactNumber('1e400'), new ExactNumber('1e400'))).toEqual([]);
});

it('names places by pointers', () => {
  expect(changes({ 'a/b': { c: 1 }, d: [1, 2] }, { 'a/b': { c: '1' }, d: [1], e: true })).toEqual([
    { path: '/e', kind: 'added', after: true },
    { path: '/a~1b/c', kind: 'changed', before: 1, after: '1' },
    { path: '/d/1', kind: 'removed', before: 2 },
  ]);
});

it('tells a change of type', () => {
  expect(changes({ a: {} }, { a: [] })).toEqual([{ path: '/a', kind: 'changed', before: {}, after: [] }]);
  expect(changes(5, new ExactNumber('5'))).toHaveLength(1);
});

it('takes any depth', () => {
  let deep: unknown = 1;
  let other: unknown = 2;
  for (let level = 0; level < 20_000; level += 1) {
    deep = [deep];
    other = [other];
  }
  expect(changes(deep, other)).toHaveLength(1);
});
