/** What a page and the one connection of this browser say to each other. */

import type { LiveEvent } from '../api/types';

/** How the connection stands. */
export type Standing =
  | { state: 'connecting' }
  | { state: 'live' }
  | { state: 'catching_up'; behind: number }
  | { state: 'reconnecting'; retryAt: number }
  | { state: 'offline'; retryAt: number }
  | { state: 'expired' };

/** How far the ledger has grown and how many cases wait: a level, not an event. */
export interface Level {
  size: number;
  waiting: number;
}

/** What became of a case, as soon as it happened. A server that does not tell it is asked now and then instead. */
export interface DecisionNews {
  case: string;
  kind: string;
  decision: string;
  state: 'recorded' | 'acknowledged';
}

/** A live event comes as the text that the server sent: numbers with all their digits do not survive the way from a worker. */
export type ToPage = Exclude<Message, { type: 'event' }> | { type: 'event'; text: string };

/** What the parts of a page are told. */
export type Message =
  | { type: 'standing'; standing: Standing }
  | { type: 'event'; event: LiveEvent }
  | { type: 'gap'; from: number; to: number }
  | { type: 'level'; level: Level }
  | { type: 'decision'; news: DecisionNews }
  /** The server is another run of itself, or another one: what was loaded may be outdated. */
  | { type: 'restarted'; server: string };

export type FromPage = { type: 'retry' } | { type: 'leave' };
