import { expect, it } from 'vitest';
import type { ToolRow } from '../api/types';
import { hotSpots, failureRate } from './rates';

const tool = (calls: number, failed: number, failures: ToolRow['failures'] = []) => ({ server: 's', name: 't', calls, failed, failures }) as ToolRow;

it.each([
  [0, 0, '–', 'no calls'],
  [10, 0, '0 %', 'never fails'],
  [1000, 1, '< 1 %', 'rarely fails'],
  [10, 3, '30 %', 'often fails'],
  [10, 10, '100 %', 'mostly fails'],
])('%d calls with %d failures: %s, %s', (calls, failed, percent, word) => {
  expect(failureRate(tool(calls, failed))).toMatchObject({ percent, word });
});

it('lists the hottest places first', () => {
  const spots = hotSpots([tool(1, 1, [{ code: 'A', path: '/a', count: 2 }]), tool(1, 1, [{ code: 'B', path: '', count: 5 }])], 1);
  expect(spots).toEqual([{ server: 's', tool: 't', code: 'B', path: '', count: 5 }]);
});
