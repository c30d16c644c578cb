/**
 * One connection to `/api/events` that never gives up and never delivers an event twice.
 *
 * The browser's own reconnecting is not used: it ends for good at any answer but 200, and a new
 * EventSource forgets its cursor. So each attempt is a fresh one with `?after=` in its address.
 */

import type { LiveEvent } from '../api/types';
import type { DecisionNews, Level, Standing, ToPage } from './protocol';

/** The part of EventSource that is used, so that tests can hand in another. */
export interface Source {
  addEventListener(name: string, listener: (event: { data?: unknown }) => void): void;
  close(): void;
}

/** What the server says first: which run of it this is, and where its log stands. */
interface Hello {
  server: string;
  seq: number;
  size?: number;
  waiting?: number;
}

export interface Surroundings {
  open(address: string): Source;
  /** `unknown` when the server does not answer. */
  checkSession(): Promise<'open' | 'locked' | 'unknown'>;
  now(): number;
  later(run: () => void, milliseconds: number): unknown;
  cancel(timer: unknown): void;
}

const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 15_000;
/** So many failures in a row are called offline. */
const PATIENCE = 4;
/** Without an event for so long there was nothing more to catch up on. */
const QUIET = 2_000;

export class Connection {
  standing: Standing = { state: 'connecting' };
  level: Level | null = null;
  /** The last event that was delivered; null until the server said where it stands. */
  #last: number | null = null;
  #server: string | null = null;
  #source: Source | null = null;
  #failures = 0;
  #timer: unknown = null;
  #catchUpTo = 0;
  /** Told apart by this, so that a closed source's late events are ignored. */
  #attempt = 0;

  constructor(
    private readonly surroundings: Surroundings,
    private readonly tell: (message: ToPage) => void,
  ) {}

  /** Connects now, whatever was planned. */
  start(): void {
    this.#clear();
    const attempt = this.#attempt;
    const source = this.surroundings.open(this.#last === null ? '/api/events' : `/api/events?after=${this.#last}`);
    this.#source = source;
    const when = <Data>(name: string, run: (data: Data, text: string) => void): void => {
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
    when<Hello>('hello', (hello) => this.#greet(hello));
    when<LiveEvent>('live', (event, text) => this.#deliver(event.seq, text));
    when<{ from: number; to: number }>('gap', (gap) => this.#skip(gap));
    when<DecisionNews & { seq?: number }>('decision', (news) => {
      if (this.#isNew(news.seq)) this.tell({ type: 'decision', news: { case: news.case, kind: news.kind, decision: news.decision, state: news.state } });
      this.#progress();
    });
    // Nobody here listens to these; the place in the log moves on with them all the same.
    when<{ seq?: number }>('artifact', ({ seq }) => {
      if (this.#isNew(seq)) this.#progress();
    });
    when<Level>('ledger', (level) => this.#rise(level));
    source.addEventListener('error', () => {
      if (attempt === this.#attempt) void this.#fail();
    });
  }

  /** Connects now unless it already is, for a page that came back or was unlocked. */
  retry(): void {
    if (this.standing.state === 'live' || this.standing.state === 'catching_up') return;
    this.#failures = 0;
    this.start();
  }

  /** Closes without planning another attempt. */
  stop(): void {
    this.#clear();
  }

  #clear(): void {
    this.#attempt += 1;
    this.#source?.close();
    this.#source = null;
    if (this.#timer !== null) this.surroundings.cancel(this.#timer);
    this.#timer = null;
  }

  #stand(standing: Standing): void {
    this.standing = standing;
    this.tell({ type: 'standing', standing });
  }

  #rise(level: Level): void {
    this.level = level;
    this.tell({ type: 'level', level });
  }

  #greet(hello: Hello): void {
    this.#failures = 0;
    const isOther = this.#server !== null && this.#server !== hello.server;
    this.#server = hello.server;
    if (isOther) this.tell({ type: 'restarted', server: hello.server });
    if (hello.size !== undefined && hello.waiting !== undefined) this.#rise({ size: hello.size, waiting: hello.waiting });
    if (this.#last === null) {
      this.#last = hello.seq;
      this.#stand({ state: 'live' });
    } else if (hello.seq < this.#last) {
      // Another history: our cursor means nothing there, and waiting for it would be silence.
      this.#last = hello.seq;
      this.start();
    } else if (hello.seq > this.#last) {
      this.#catchUpTo = hello.seq;
      this.#stand({ state: 'catching_up', behind: hello.seq - this.#last });
      this.#awaitQuiet();
    } else {
      this.#stand({ state: 'live' });
    }
  }

  /** Whether this place of the log was not reached yet; then it is now. News without a place are always new. */
  #isNew(seq: number | undefined): boolean {
    if (typeof seq !== 'number') return true;
    if (this.#last !== null && seq <= this.#last) return false;
    this.#last = seq;
    return true;
  }

  #deliver(seq: number, text: string): void {
    if (!this.#isNew(seq)) return;
    this.tell({ type: 'event', text });
    this.#progress();
  }

  #skip(gap: { from: number; to: number }): void {
    if (!this.#isNew(gap.to)) return;
    this.tell({ type: 'gap', from: gap.from, to: gap.to });
    this.#progress();
  }

  #progress(): void {
    if (this.standing.state !== 'catching_up') return;
    const behind = this.#catchUpTo - (this.#last ?? 0);
    if (behind > 0) {
      this.#stand({ state: 'catching_up', behind });
      this.#awaitQuiet();
    } else {
      if (this.#timer !== null) this.surroundings.cancel(this.#timer);
      this.#timer = null;
      this.#stand({ state: 'live' });
    }
  }

  #awaitQuiet(): void {
    if (this.#timer !== null) this.surroundings.cancel(this.#timer);
    this.#timer = this.surroundings.later(() => {
      this.#timer = null;
      if (this.standing.state === 'catching_up') this.#stand({ state: 'live' });
    }, QUIET);
  }

  async #fail(): Promise<void> {
    this.#clear();
    const attempt = this.#attempt;
    this.#failures += 1;
    // EventSource does not say why it failed; an ended session looks like any other failure.
    const session = await this.surroundings.checkSession();
    if (attempt !== this.#attempt) return;
    if (session === 'locked') {
      this.#stand({ state: 'expired' });
      return;
    }
    const delay = Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), LONGEST_DELAY);
    const retryAt = this.surroundings.now() + delay;
    this.#stand({ state: session === 'unknown' && this.#failures >= PATIENCE ? 'offline' : 'reconnecting', retryAt });
    this.#timer = this.surroundings.later(() => this.start(), delay);
  }
}

/** The surroundings of a browser, in a page or in a worker. */
export function browserSurroundings(): Surroundings {
  return {
    open: (address) => new EventSource(address) as Source,
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
