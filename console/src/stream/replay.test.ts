import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Replay, waitBetween } from './replay.svelte';

const at = (seconds: number): string => new Date(1_000 * seconds).toISOString();
const row = (seq: number, seconds: number) => ({ seq, time: at(seconds), stream: 's', kind: 'rows', body: { artifact: 0, rows: [[seq]] } });
const EVENTS = [{ seq: 1, time: at(0), stream: 's', kind: 'envelope', body: { artifacts: [{ artifact_type: 'table', content: { columns: ['n'], rows: [] } }] } }, row(2, 1), row(3, 2), row(4, 60), { seq: 5, time: at(61), stream: 's', kind: 'end', body: { outcome: 'completed' } }];
const rows = (replay: Replay): unknown => (replay.state.envelope?.artifacts as { content: { rows: unknown[] } }[] | undefined)?.[0]?.content.rows.flat();

describe('waitBetween', () => {
  it.each([
    [at(0), at(2), 1, 2_000],
    [at(0), at(2), 4, 500],
    [at(0), at(900), 1, 3_000],
    [at(0), at(900), 4, 750],
    [at(2), at(0), 1, 40],
    ['never', at(0), 1, 40],
    [undefined, undefined, 4, 40],
  ] as const)('%s to %s at ×%d is %d ms', (before, after, speed, wait) => {
    expect(waitBetween(before, after, speed)).toBe(wait);
  });
});

describe('Replay', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('plays, waits as long as it took, pauses, goes faster and ends', () => {
    const replay = new Replay(EVENTS);
    expect([replay.position, replay.state.envelope]).toEqual([0, null]);
    replay.play();
    vi.advanceTimersByTime(1_050);
    expect([replay.position, rows(replay)]).toEqual([2, [2]]);
    replay.pause();
    vi.advanceTimersByTime(60_000);
    expect(replay.position).toBe(2);
    replay.play();
    replay.setSpeed(4);
    vi.advanceTimersByTime(260);
    expect([replay.position, rows(replay)]).toEqual([3, [2, 3]]);
    vi.advanceTimersByTime(750 + 250);
    expect(replay).toMatchObject({ position: 5, isPlaying: false, isAtEnd: true });
    expect(replay.state).toMatchObject({ isEnded: true, outcome: 'completed' });
    replay.play();
    vi.advanceTimersByTime(1);
    expect([replay.position, replay.isPlaying]).toEqual([1, true]);
    replay.pause();
  });

  it('goes to any place, there and back', () => {
    const replay = new Replay(EVENTS);
    for (const [place, shown] of [[4, [2, 3, 4]], [2, [2]], [3, [2, 3]], [0, undefined], [99, [2, 3, 4]], [-3, undefined]] as const) {
      replay.seek(place);
      expect(rows(replay)).toEqual(shown);
    }
    expect(replay.isPlaying).toBe(false);
  });
});
