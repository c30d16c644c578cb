/** Replays a stream from its start, in real time or faster. The live stream continues meanwhile. */

import { api } from '../api';
import type { LiveEvent } from '../api/types';
import { emptyStream, fold, type StreamState } from '../lib/stream';

export type Speed = 1 | 4;

const PAGE = 500;
/** A longer stream is truncated, and the page says so. */
const MAX_COUNT = 5_000;
/** The maximum wait for the next event at normal speed. */
const MAX_WAIT = 3_000;
const MIN_WAIT = 40;

/** Computes the delay between two events. */
export function waitBetween(before: string | undefined, after: string | undefined, speed: Speed): number {
  const apart = Date.parse(after ?? '') - Date.parse(before ?? '');
  return Math.max(MIN_WAIT, (Number.isFinite(apart) ? Math.min(apart, MAX_WAIT) : 0) / speed);
}

export class Replay {
  state = $state.raw<StreamState>(emptyStream());
  /** The number of replayed events. */
  position = $state(0);
  isPlaying = $state(false);
  speed = $state<Speed>(1);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly events: readonly LiveEvent[],
    /** Describes missing events; empty if the replay is complete. */
    readonly missing = '',
  ) {}

  /** Loads the events of a stream, from the first stored one. */
  static async of(id: string): Promise<Replay> {
    const events: LiveEvent[] = [];
    let missing = '';
    let after = 0;
    for (;;) {
      const page = await api.streamEvents(id, after, PAGE);
      if (page.gap) missing = `Events ${page.gap.from} to ${page.gap.to} are no longer stored, so their changes are missing here.`;
      events.push(...page.events);
      if (page.events.length < PAGE || page.after <= after) break;
      if (events.length >= MAX_COUNT) {
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

  /** Resumes, or restarts from the beginning at the end. */
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

  /** Shows the state after the first `position` events. */
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
