import { describe, expect, it } from 'vitest';
import { Connection, type EventStream, type ConnectionEnvironment } from './connection';
import type { WorkerMessage } from './protocol';

class FakeSource implements EventStream {
  listeners = new Map<string, (event: { data?: unknown }) => void>();
  isClosed = false;
  constructor(readonly address: string) {}
  addEventListener(name: string, listener: (event: { data?: unknown }) => void): void {
    this.listeners.set(name, listener);
  }
  close(): void {
    this.isClosed = true;
  }
  send(name: string, data?: unknown): void {
    this.listeners.get(name)?.(data === undefined ? {} : { data: JSON.stringify(data) });
  }
}

function setUp(session: 'open' | 'locked' | 'unknown' = 'unknown') {
  const sources: FakeSource[] = [];
  const timers = new Map<number, { run: () => void; milliseconds: number }>();
  const sent: WorkerMessage[] = [];
  let nextTimer = 0;
  const environment: ConnectionEnvironment = {
    open: (address) => {
      const source = new FakeSource(address);
      sources.push(source);
      return source;
    },
    checkSession: async () => session,
    now: () => 0,
    later: (run, milliseconds) => {
      timers.set(++nextTimer, { run, milliseconds });
      return nextTimer;
    },
    cancel: (timer) => timers.delete(timer as number),
  };
  const connection = new Connection(environment, (message) => sent.push(message));
  connection.start();
  const last = () => sources[sources.length - 1] as FakeSource;
  const runTimer = () => {
    const [key, timer] = [...timers][0] ?? [];
    if (key === undefined || !timer) throw new Error('no timer');
    timers.delete(key);
    timer.run();
    return timer.milliseconds;
  };
  const fail = async () => {
    last().send('error');
    await Promise.resolve();
    await Promise.resolve();
  };
  return { connection, sources, sent, last, runTimer, fail, timers };
}

const hello = (seq: number, server = 'a') => ({ server, seq, floor: 0, size: 0 });
const event = (seq: number) => ({ seq, time: '', stream: 's', kind: 'note', body: null });

describe('Connection', () => {
  it('begins from now and drops what it already has', () => {
    const { connection, last, sent } = setUp();
    expect(last().address).toBe('/api/events');
    last().send('hello', hello(10));
    expect(connection.connectionState).toEqual({ state: 'live' });
    for (const seq of [9, 10, 11, 11, 12]) last().send('live', event(seq));
    expect(sent.filter((one) => one.type === 'event').map((one) => (JSON.parse(one.text) as { seq: number }).seq)).toEqual([11, 12]);
  });

  it('goes on after its cursor and says how far behind it is', async () => {
    const { connection, last, fail, runTimer } = setUp();
    last().send('hello', hello(10));
    await fail();
    expect(connection.connectionState).toEqual({ state: 'reconnecting', retryAt: 1_000 });
    expect(runTimer()).toBe(1_000);
    expect(last().address).toBe('/api/events?after=10');
    last().send('hello', hello(13));
    expect(connection.connectionState).toEqual({ state: 'catching_up', behind: 3 });
    last().send('live', event(11));
    expect(connection.connectionState).toEqual({ state: 'catching_up', behind: 2 });
    last().send('live', event(13));
    expect(connection.connectionState).toEqual({ state: 'live' });
  });

  it('is live again when nothing more comes', async () => {
    const { connection, last, fail, runTimer } = setUp();
    last().send('hello', hello(10));
    await fail();
    runTimer();
    last().send('hello', hello(13));
    runTimer();
    expect(connection.connectionState).toEqual({ state: 'live' });
  });

  it('takes the counts from the greeting', () => {
    const { connection, last } = setUp();
    last().send('hello', { ...hello(10), size: 7, waiting: 2 });
    expect(connection.counts).toEqual({ size: 7, waiting: 2 });
  });

  it('tells a gap once and goes on behind it', () => {
    const { last, sent } = setUp();
    last().send('hello', hello(10));
    last().send('gap', { from: 11, to: 20 });
    last().send('gap', { from: 11, to: 20 });
    last().send('live', event(15));
    last().send('live', event(21));
    expect(sent.filter((one) => one.type === 'gap' || one.type === 'event')).toEqual([
      { type: 'gap', from: 11, to: 20 },
      { type: 'event', text: JSON.stringify(event(21)) },
    ]);
  });

  it('tells decisions once, and goes on behind them', async () => {
    const { last, sent, fail, runTimer } = setUp();
    const news = { case: 'c', kind: 'proposal', decision: 'approve', state: 'recorded' };
    last().send('hello', hello(10));
    last().send('decision', { ...news, seq: 11, time: '' });
    last().send('decision', { ...news, seq: 11, time: '' });
    last().send('artifact', { seq: 12 });
    // Updates may have no sequence number.
    last().send('decision', { ...news, state: 'acknowledged' });
    expect(sent.filter((one) => one.type === 'decision')).toEqual([
      { type: 'decision', news },
      { type: 'decision', news: { ...news, state: 'acknowledged' } },
    ]);
    await fail();
    runTimer();
    expect(last().address).toBe('/api/events?after=12');
  });

  it('hands on the text as it came, so that no digit is lost', () => {
    const { last, sent } = setUp();
    last().send('hello', hello(10));
    const text = '{"seq":11,"time":"","stream":"s","kind":"rows","body":{"rows":[[12345678901234567890]]}}';
    last().listeners.get('live')?.({ data: text });
    expect(sent.at(-1)).toEqual({ type: 'event', text });
    // Worker messages are cloned, and an `ExactNumber` would lose its class.
    expect(structuredClone(sent.at(-1))).toEqual({ type: 'event', text });
  });

  it('waits longer each time, then calls it offline, and tries on', async () => {
    const { connection, fail, runTimer } = setUp();
    const delays: number[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      await fail();
      delays.push(runTimer());
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    await fail();
    expect(connection.connectionState.state).toBe('offline');
  });

  it('stops at an ended session until it is told to retry', async () => {
    const { connection, fail, timers, sources } = setUp('locked');
    await fail();
    expect(connection.connectionState).toEqual({ state: 'expired' });
    expect(timers.size).toBe(0);
    connection.retry();
    expect(sources.length).toBe(2);
  });

  it('starts over on a history that is shorter than its cursor', () => {
    const { last, connection, sources, sent } = setUp();
    last().send('hello', hello(10));
    connection.stop();
    connection.start();
    last().send('hello', hello(2, 'b'));
    expect(sent).toContainEqual({ type: 'restarted', server: 'b' });
    expect(last().address).toBe('/api/events?after=2');
    expect(sources[1]?.isClosed).toBe(true);
  });

  it('ignores a closed source and broken data', () => {
    const { last, connection, sources, sent } = setUp();
    const first = last();
    connection.start();
    first.send('live', event(1));
    last().listeners.get('live')?.({ data: '{' });
    expect(sent).toEqual([]);
    expect(sources.length).toBe(2);
  });
});
