/** The messages between a page and the shared connection of this browser. */

import type { LiveEvent } from '../api/types';

/** State of the connection to the server. */
export type ConnectionState =
  | { state: 'connecting' }
  | { state: 'live' }
  | { state: 'catching_up'; behind: number }
  | { state: 'reconnecting'; retryAt: number }
  | { state: 'offline'; retryAt: number }
  | { state: 'expired' };

/** The size of the ledger and the number of waiting cases. */
export interface LedgerCounts {
  size: number;
  waiting: number;
}

/** A recorded or acknowledged decision. Servers that do not send these are polled. */
export interface DecisionUpdate {
  case: string;
  kind: string;
  decision: string;
  state: 'recorded' | 'acknowledged';
}

/** A live event is sent as the server's text, because cloning from a worker would lose digits of large numbers. */
export type WorkerMessage = Exclude<FeedMessage, { type: 'event' }> | { type: 'event'; text: string };

/** A message to the listeners in a page. */
export type FeedMessage =
  | { type: 'connectionState'; connectionState: ConnectionState }
  | { type: 'event'; event: LiveEvent }
  | { type: 'gap'; from: number; to: number }
  | { type: 'counts'; counts: LedgerCounts }
  | { type: 'decision'; news: DecisionUpdate }
  /** The server has restarted or is another one, so loaded data may be outdated. */
  | { type: 'restarted'; server: string };

export type PageRequest = { type: 'retry' } | { type: 'leave' };
