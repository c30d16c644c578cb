/** The live events as pages see them, whoever holds the connection. */

import type { LiveEvent } from '../api/types';
import { parseExactly } from '../lib/json';
import { browserSurroundings, Connection } from './connection';
import type { FromPage, Level, Message, Standing, ToPage } from './protocol';
import { Refresher } from './refresher';
import workerAddress from './worker?sharedworker&url';

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): { createScriptURL(address: string): string };
}

type Listener = (message: Message) => void;

class Feed {
  standing: Standing = $state.raw({ state: 'connecting' });
  /** Null until the server said it once. */
  level: Level | null = $state.raw(null);
  /** Counts restarts of the server, for pages that load anew then. */
  restarts = $state(0);
  #listeners = new Set<Listener>();
  #send: ((message: FromPage) => void) | null = null;

  /** Connects; later calls only ask to try again at once. */
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

  /** Calls `listener` with every message until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `load` when the log has grown or the server was started again, until the returned function is called. */
  refresh(load: () => Promise<unknown>): () => void {
    const refresher = new Refresher(load);
    const stop = this.listen((message) => {
      if (message.type === 'level' || message.type === 'restarted') refresher.request();
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

  #receive(received: ToPage): void {
    // Parsed once for all listeners, and only if there are any.
    if (received.type === 'event' && this.#listeners.size === 0) return;
    const message: Message = received.type === 'event' ? { type: 'event', event: parseExactly(received.text) as LiveEvent } : received;
    if (message.type === 'standing') this.standing = message.standing;
    else if (message.type === 'level') this.level = message.level;
    else if (message.type === 'restarted') this.restarts += 1;
    for (const listener of this.#listeners) listener(message);
  }

  #shared(): (message: FromPage) => void {
    const trustedTypes = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
    const rules = {
      createScriptURL: (address: string): string => {
        if (address !== workerAddress) throw new TypeError('only the live worker may be started');
        return address;
      },
    };
    const address = (trustedTypes?.createPolicy('answerback-worker', rules) ?? rules).createScriptURL(workerAddress);
    const worker = new SharedWorker(address, { type: 'module', name: 'answerback-live' });
    worker.port.onmessage = (event: MessageEvent<ToPage>) => this.#receive(event.data);
    return (message) => worker.port.postMessage(message);
  }

  /** Without shared workers each tab connects itself, and only while it is looked at. */
  #alone(): (message: FromPage) => void {
    const connection = new Connection(browserSurroundings(), (message) => this.#receive(message));
    connection.start();
    document.addEventListener('visibilitychange', () => (document.hidden ? connection.stop() : connection.start()));
    return (message) => (message.type === 'leave' ? connection.stop() : connection.retry());
  }
}

export const feed = new Feed();
