/**
 * A connection to `/api/events` that always reconnects and never delivers an event twice.
 *
 * EventSource's own reconnecting is not used: it stops after any status but 200, and a new EventSource forgets its
 * cursor. So each attempt opens a new one with `?after=` in its address.
 */

import type { LiveEvent } from '../api/types';
import type { DecisionUpdate, LedgerCounts, ConnectionState, WorkerMessage } from './protocol';

/** The used subset of EventSource, which tests replace. */
export interface EventStream {
  addEventListener(name: string, listener: (event: { data?: unknown }) => void): void;
  close(): void;
}

/** The server's first event: the id of its process and the position of its log. */
interface Hello {
  server: string;
  seq: number;
  size?: number;
  waiting?: number;
}

export interface ConnectionEnvironment {
  open(address: string): EventStream;
  /** `unknown` if the server does not respond. */
  checkSession(): Promise<'open' | 'locked' | 'unknown'>;
  now(): number;
  later(run: () => void, milliseconds: number): unknown;
  cancel(timer: unknown): void;
}

const FIRST_DELAY = 1_000;
const MAX_DELAY = 15_000;
/** Consecutive failures before the state is offline. */
const FAILURES_BEFORE_OFFLINE = 4;
/** Catching up ends after this time without an event. */
const QUIET_PERIOD = 2_000;

export class Connection {
  connectionState: ConnectionState = { state: 'connecting' };
  counts: LedgerCounts | null = null;
  /** Sequence number of the last delivered event; null before the server's hello. */
  #last: number | null = null;
  #server: string | null = null;
  #source: EventStream | null = null;
  #failures = 0;
  #timer: unknown = null;
  #catchUpTo = 0;
  /** Identifies the current attempt, so that late events of a closed source are ignored. */
  #attempt = 0;

  constructor(
    private readonly environment: ConnectionEnvironment,
    private readonly send: (message: WorkerMessage) => void,
  ) {}

  /** Connects now and cancels any planned attempt. */
  start(): void {
    this.#clear();
    const attempt = this.#attempt;
    const source = this.environment.open(this.#last === null ? '/api/events' : `/api/events?after=${this.#last}`);
    this.#source = source;
    const on = <Data>(name: string, run: (data: Data, text: string) => void): void => {
      source.addEventListener(name, (event) => {
        if (attempt !== this.#attempt || typeof event.data !== 'string') return;
        let data: Data;
        try {
          data = JSON.parse(event.data) as Data;
        } catch {
          return;
        }
        run(data, event.data);
      });
    };
    on<Hello>('hello', (hello) => this.#handleHello(hello));
    on<LiveEvent>('live', (event, text) => this.#handleEvent(event.seq, text));
    on<{ from: number; to: number }>('gap', (gap) => this.#handleGap(gap));
    on<DecisionUpdate & { seq?: number }>('decision', (news) => {
      if (this.#advanceTo(news.seq)) this.send({ type: 'decision', news: { case: news.case, kind: news.kind, decision: news.decision, state: news.state } });
      this.#updateCatchUp();
    });
    // No page uses these events, but they advance the cursor.
    on<{ seq?: number }>('artifact', ({ seq }) => {
      if (this.#advanceTo(seq)) this.#updateCatchUp();
    });
    on<LedgerCounts>('ledger', (counts) => this.#setCounts(counts));
    source.addEventListener('error', () => {
      if (attempt === this.#attempt) void this.#handleError();
    });
  }

  /** Connects now unless connected, after a page became visible or was unlocked. */
  retry(): void {
    if (this.connectionState.state === 'live' || this.connectionState.state === 'catching_up') return;
    this.#failures = 0;
    this.start();
  }

  /** Disconnects without planning another attempt. */
  stop(): void {
    this.#clear();
  }

  #clear(): void {
    this.#attempt += 1;
    this.#source?.close();
    this.#source = null;
    if (this.#timer !== null) this.environment.cancel(this.#timer);
    this.#timer = null;
  }

  #setConnectionState(connectionState: ConnectionState): void {
    this.connectionState = connectionState;
    this.send({ type: 'connectionState', connectionState });
  }

  #setCounts(counts: LedgerCounts): void {
    this.counts = counts;
    this.send({ type: 'counts', counts });
  }

  #handleHello(hello: Hello): void {
    this.#failures = 0;
    const isOther = this.#server !== null && this.#server !== hello.server;
    this.#server = hello.server;
    if (isOther) this.send({ type: 'restarted', server: hello.server });
    if (hello.size !== undefined && hello.waiting !== undefined) this.#setCounts({ size: hello.size, waiting: hello.waiting });
    if (this.#last === null) {
      this.#last = hello.seq;
      this.#setConnectionState({ state: 'live' });
    } else if (hello.seq < this.#last) {
      // The server has another log, where this cursor is invalid. Waiting for it would deliver nothing.
      this.#last = hello.seq;
      this.start();
    } else if (hello.seq > this.#last) {
      this.#catchUpTo = hello.seq;
      this.#setConnectionState({ state: 'catching_up', behind: hello.seq - this.#last });
      this.#goLiveWhenQuiet();
    } else {
      this.#setConnectionState({ state: 'live' });
    }
  }

  /**
   * Advances the cursor. Returns false for an event that was delivered before; events without a number are always
   * new.
   */
  #advanceTo(seq: number | undefined): boolean {
    if (typeof seq !== 'number') return true;
    if (this.#last !== null && seq <= this.#last) return false;
    this.#last = seq;
    return true;
  }

  #handleEvent(seq: number, text: string): void {
    if (!this.#advanceTo(seq)) return;
    this.send({ type: 'event', text });
    this.#updateCatchUp();
  }

  #handleGap(gap: { from: number; to: number }): void {
    if (!this.#advanceTo(gap.to)) return;
    this.send({ type: 'gap', from: gap.from, to: gap.to });
    this.#updateCatchUp();
  }

  #updateCatchUp(): void {
    if (this.connectionState.state !== 'catching_up') return;
    const behind = this.#catchUpTo - (this.#last ?? 0);
    if (behind > 0) {
      this.#setConnectionState({ state: 'catching_up', behind });
      this.#goLiveWhenQuiet();
    } else {
      if (this.#timer !== null) this.environment.cancel(this.#timer);
      this.#timer = null;
      this.#setConnectionState({ state: 'live' });
    }
  }

  #goLiveWhenQuiet(): void {
    if (this.#timer !== null) this.environment.cancel(this.#timer);
    this.#timer = this.environment.later(() => {
      this.#timer = null;
      if (this.connectionState.state === 'catching_up') this.#setConnectionState({ state: 'live' });
    }, QUIET_PERIOD);
  }

  async #handleError(): Promise<void> {
    this.#clear();
    const attempt = this.#attempt;
    this.#failures += 1;
    // EventSource reports no status, so this request finds out whether the session has ended.
    const session = await this.environment.checkSession();
    if (attempt !== this.#attempt) return;
    if (session === 'locked') {
      this.#setConnectionState({ state: 'expired' });
      return;
    }
    const delay = Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), MAX_DELAY);
    const retryAt = this.environment.now() + delay;
    this.#setConnectionState({ state: session === 'unknown' && this.#failures >= FAILURES_BEFORE_OFFLINE ? 'offline' : 'reconnecting', retryAt });
    this.#timer = this.environment.later(() => this.start(), delay);
  }
}

/** Creates the environment of a real browser, for a page or a worker. */
export function browserEnvironment(): ConnectionEnvironment {
  return {
    open: (address) => new EventSource(address) as EventStream,
    checkSession: async () => {
      try {
        const answer = await fetch('/api/session', { credentials: 'same-origin', cache: 'no-store' });
        return answer.status === 401 ? 'locked' : answer.ok ? 'open' : 'unknown';
      } catch {
        return 'unknown';
      }
    },
    now: () => Date.now(),
    later: (run, milliseconds) => setTimeout(run, milliseconds),
    cancel: (timer) => clearTimeout(timer as number),
  };
}
