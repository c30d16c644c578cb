/**
 * Follows one stream: the server's snapshot, then every event after it.
 *
 * Events that arrive while the snapshot loads are queued. So none is missed, and none older than the snapshot is
 * applied to it.
 */

import { api } from '../api';
import { asProblem, type Problem } from '../api/problem';
import type { LiveEvent, StreamDetail } from '../api/types';
import { isObject } from '../envelope/types';
import { emptyStream, fold, type StreamState, streamFromSnapshot } from '../lib/stream';
import { feed } from '../live/feed.svelte';

/** A line of the raw log: an event, or a gap between two. */
export type LogLine = { seq: number; time: string; kind: string; body: unknown } | { seq: number; gap: { from: number; to: number } };

const MAX_LINES = 2_000;
const PAGE = 500;

export class StreamFollower {
  state = $state.raw<StreamState>(emptyStream());
  log = $state.raw<LogLine[]>([]);
  /** The number of oldest lines that were removed. */
  dropped = $state(0);
  detail = $state.raw<StreamDetail | null>(null);
  problem = $state.raw<Problem | null>(null);
  /** Events received while paused, applied on resume. */
  held = $state.raw<LiveEvent[]>([]);
  isPaused = $state(false);
  #isReady = false;
  #queuedEvents: LiveEvent[] = [];
  #pending: LiveEvent[] = [];
  #frame = 0;
  #stop: () => void;

  constructor(readonly id: string) {
    this.#stop = feed.listen((message) => {
      if (message.type === 'event' && message.event.stream === id) this.#receive(message.event);
      else if (message.type === 'gap') {
        // The gap concerns the whole log; the snapshot says whether it affects this stream.
        void this.load({ from: message.from, to: message.to });
      } else if (message.type === 'restarted') void this.load();
    });
    void this.load();
  }

  /** Loads the snapshot and the log; a gap adds a line where events are missing. */
  async load(gap: { from: number; to: number } | null = null): Promise<void> {
    this.#isReady = false;
    this.problem = null;
    try {
      const detail = await api.stream(this.id);
      const log: LogLine[] = gap === null ? [] : [...this.log];
      let after = gap === null ? 0 : gap.to;
      if (gap !== null) log.push({ seq: gap.to, gap });
      for (;;) {
        const page = await api.streamEvents(this.id, after, PAGE);
        if (page.gap) log.push({ seq: page.gap.to, gap: page.gap });
        log.push(...page.events.filter((event) => event.seq <= detail.as_of_seq));
        if (page.events.length < PAGE || page.after <= after) break;
        after = page.after;
      }
      this.detail = detail;
      const end = log.findLast((line) => !('gap' in line) && line.kind === 'end');
      const body = end && !('gap' in end) && isObject(end.body) ? end.body : {};
      this.state = {
        ...streamFromSnapshot(detail.envelope, detail.as_of_seq, detail.warnings),
        isEnded: detail.ended,
        outcome: detail.outcome,
        digest: typeof body.digest === 'string' ? body.digest : null,
      };
      this.#setLog(log);
      this.#isReady = true;
      const queuedEvents = this.#queuedEvents;
      this.#queuedEvents = [];
      for (const event of queuedEvents) this.#receive(event);
    } catch (error) {
      this.problem = asProblem(error);
    }
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    const held = this.held;
    this.held = [];
    this.#apply(held);
  }

  close(): void {
    this.#stop();
    cancelAnimationFrame(this.#frame);
  }

  #receive(event: LiveEvent): void {
    if (!this.#isReady) {
      this.#queuedEvents.push(event);
      return;
    }
    if (event.seq <= this.state.last) return;
    if (this.isPaused) {
      this.held = [...this.held, event];
      return;
    }
    // A fast stream updates the page once per animation frame, not once per event.
    this.#pending.push(event);
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const pending = this.#pending;
      this.#pending = [];
      this.#apply(pending);
    });
  }

  #apply(events: LiveEvent[]): void {
    const fresh = events.filter((event) => event.seq > this.state.last);
    if (fresh.length === 0) return;
    this.state = fresh.reduce(fold, this.state);
    this.#setLog([...this.log, ...fresh]);
  }

  #setLog(log: LogLine[]): void {
    const excess = Math.max(0, log.length - MAX_LINES);
    this.log = excess > 0 ? log.slice(excess) : log;
    this.dropped = excess > 0 ? this.dropped + excess : this.dropped;
  }
}
