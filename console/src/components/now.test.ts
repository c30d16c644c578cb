import { render } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import Countdown from './Countdown.svelte';

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-16T10:00:00Z') }));
afterEach(() => void vi.useRealTimers());

it('ticks for everything that shows the time, and stops with the last of it', async () => {
  const first = render(Countdown, { until: '2026-11-16T10:00:30Z' });
  const second = render(Countdown, { until: '2026-11-16T10:00:02Z' });
  await tick();
  expect(vi.getTimerCount()).toBe(1);
  expect(first.container.textContent).toBe('30 s left');

  await vi.advanceTimersByTimeAsync(2_000);
  expect(first.container.textContent).toBe('28 s left');
  expect(second.container.textContent).toBe('time is over');

  first.unmount();
  await tick();
  expect(vi.getTimerCount()).toBe(1);
  second.unmount();
  await tick();
  expect(vi.getTimerCount()).toBe(0);
});
