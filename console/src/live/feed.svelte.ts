/** The live events for pages, independent of whether a worker or the page holds the connection. */

import type { LiveEvent } from '../api/types';
import { parseExactly } from '../lib/json';
import { browserEnvironment, Connection } from './connection';
import type { PageRequest, LedgerCounts, FeedMessage, ConnectionState, WorkerMessage } from './protocol';
import { Refresher } from './refresher';
import workerAddress from './worker?sharedworker&url';

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): { createScriptURL(address: string): string };
}

type Listener = (message: FeedMessage) => void;

class Feed {
  connectionState: ConnectionState = $state.raw({ state: 'connecting' });
  /** Null until the server has reported them. */
  counts: LedgerCounts | null = $state.raw(null);
  /** The number of server restarts, for pages that reload their data then. */
  restarts = $state(0);
  #listeners = new Set<Listener>();
  #send: ((message: PageRequest) => void) | null = null;

  /** Connects. Later calls retry at once. */
  start(): void {
    if (this.#send) {
      this.#send({ type: 'retry' });
      return;
    }
    this.#send = typeof SharedWorker === 'undefined' ? this.#alone() : this.#shared();
    addEventListener('online', () => this.#send?.({ type: 'retry' }));
    addEventListener('pagehide', () => this.#send?.({ type: 'leave' }));
    addEventListener('pageshow', (event) => {
      if (event.persisted) this.#send?.({ type: 'retry' });
    });
  }

  /** Calls `listener` with every message. Returns a function that unsubscribes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `load` when the ledger has grown or the server has restarted. Returns a function that stops it. */
  refresh(load: () => Promise<unknown>): () => void {
    const refresher = new Refresher(load);
    const stop = this.listen((message) => {
      if (message.type === 'counts' || message.type === 'restarted') refresher.request();
    });
    return () => {
      stop();
      refresher.stop();
    };
  }

  /** Calls `run` with the events of one stream. */
  listenTo(stream: string, run: (event: LiveEvent) => void): () => void {
    return this.listen((message) => {
      if (message.type === 'event' && message.event.stream === stream) run(message.event);
    });
  }

  #receive(received: WorkerMessage): void {
    // Parsing happens once for all listeners, and not at all without listeners.
    if (received.type === 'event' && this.#listeners.size === 0) return;
    const message: FeedMessage = received.type === 'event' ? { type: 'event', event: parseExactly(received.text) as LiveEvent } : received;
    if (message.type === 'connectionState') this.connectionState = message.connectionState;
    else if (message.type === 'counts') this.counts = message.counts;
    else if (message.type === 'restarted') this.restarts += 1;
    for (const listener of this.#listeners) listener(message);
  }

  #shared(): (message: PageRequest) => void {
    const trustedTypes = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
    const rules = {
      createScriptURL: (address: string): string => {
        if (address !== workerAddress) throw new TypeError('only the live worker may be started');
        return address;
      },
    };
    const address = (trustedTypes?.createPolicy('answerback-worker', rules) ?? rules).createScriptURL(workerAddress);
    const worker = new SharedWorker(address, { type: 'module', name: 'answerback-live' });
    worker.port.onmessage = (event: MessageEvent<WorkerMessage>) => this.#receive(event.data);
    return (message) => worker.port.postMessage(message);
  }

  /** Connects from the page itself if there are no shared workers, and only while the tab is visible. */
  #alone(): (message: PageRequest) => void {
    const connection = new Connection(browserEnvironment(), (message) => this.#receive(message));
    connection.start();
    document.addEventListener('visibilitychange', () => (document.hidden ? connection.stop() : connection.start()));
    return (message) => (message.type === 'leave' ? connection.stop() : connection.retry());
  }
}

export const feed = new Feed();
