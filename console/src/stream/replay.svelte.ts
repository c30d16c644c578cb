/** A stream played again from its start, as it happened or faster. The live stream goes on behind it. */

import { api } from '../api';
import type { LiveEvent } from '../api/types';
import { emptyStream, fold, type StreamState } from '../lib/stream';

export type Speed = 1 | 4;

const PAGE = 500;
/** More would be nobody's evening; what is beyond is said. */
const MOST = 5_000;
/** Nobody waits longer for the next event than this, at the speed of life. */
const LONGEST_WAIT = 3_000;
const SHORTEST_WAIT = 40;

/** How long to wait between two events. */
export function waitBetween(before: string | undefined, after: string | undefined, speed: Speed): number {
  const apart = Date.parse(after ?? '') - Date.parse(before ?? '');
  return Math.max(SHORTEST_WAIT, (Number.isFinite(apart) ? Math.min(apart, LONGEST_WAIT) : 0) / speed);
}

export class Replay {
  state = $state.raw<StreamState>(emptyStream());
  /** How many events were played. */
  position = $state(0);
  isPlaying = $state(false);
  speed = $state<Speed>(1);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly events: readonly LiveEvent[],
    /** What this replay cannot show, in words; empty when it is whole. */
    readonly missing = '',
  ) {}

  /** Fetches the events of a stream, from the first that is kept. */
  static async of(id: string): Promise<Replay> {
    const events: LiveEvent[] = [];
    let missing = '';
    let after = 0;
    for (;;) {
      const page = await api.streamEvents(id, after, PAGE);
      if (page.gap) missing = `Events ${page.gap.from} to ${page.gap.to} are not kept, so what they made is missing here.`;
      events.push(...page.events);
      if (page.events.length < PAGE || page.after <= after) break;
      if (events.length >= MOST) {
        missing = `Only the first ${events.length} events are played.`;
        break;
      }
      after = page.after;
    }
    return new Replay(events, missing);
  }

  get isAtEnd(): boolean {
    return this.position >= this.events.length;
  }

  /** Plays on, or again from the start when it is over. */
  play(): void {
    if (this.isAtEnd) this.seek(0);
    this.isPlaying = true;
    this.#plan();
  }

  pause(): void {
    this.isPlaying = false;
    clearTimeout(this.#timer);
  }

  setSpeed(speed: Speed): void {
    this.speed = speed;
    if (this.isPlaying) this.#plan();
  }

  /** Shows what the first `position` events make. */
  seek(position: number): void {
    const wanted = Math.max(0, Math.min(Math.round(position), this.events.length));
    let state = wanted < this.position ? emptyStream() : this.state;
    for (const event of this.events.slice(wanted < this.position ? 0 : this.position, wanted)) state = fold(state, event);
    this.state = state;
    this.position = wanted;
    if (this.isAtEnd) this.pause();
    else if (this.isPlaying) this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#timer);
    const wait = this.position === 0 ? 0 : waitBetween(this.events[this.position - 1]?.time, this.events[this.position]?.time, this.speed);
    this.#timer = setTimeout(() => this.seek(this.position + 1), wait);
  }
}
