/** Whether this browser may see anything, and what. */

import { api } from './api';
import { asProblem, type Problem } from './api/problem';
import { onLocked } from './api/request';
import type { Session } from './api/types';
import { feed } from './live/feed.svelte';

type Access =
  | { state: 'checking' }
  | { state: 'locked' }
  /** It was open in this tab; the page stays behind a dialog. */
  | { state: 'expired' }
  | { state: 'unreachable'; problem: Problem }
  | { state: 'open' };

class Gate {
  access: Access = $state.raw({ state: 'checking' });
  session: Session | null = $state.raw(null);
  /** The server runs another version than the one this page came with. */
  isOutdated = $state(false);

  get mayDecide(): boolean {
    return this.session?.scopes.includes('decide') ?? false;
  }

  /** Asks the server whether this browser has a session. */
  async check(): Promise<void> {
    try {
      this.#open(await api.session());
    } catch (error) {
      const problem = asProblem(error);
      this.access = problem.status === 401 ? { state: 'locked' } : { state: 'unreachable', problem };
    }
  }

  /** Exchanges a token for a session. Throws the problem when the server refuses. */
  async unlock(token: string): Promise<void> {
    this.#open(await api.unlock(token));
  }

  /** Ends this browser's session. */
  async lock(): Promise<void> {
    await api.lock();
    this.session = null;
    this.access = { state: 'locked' };
  }

  expire(): void {
    if (this.access.state === 'open') this.access = { state: 'expired' };
  }

  /** After a restart of the server: is it still the same version? */
  async compareVersion(): Promise<void> {
    const before = this.session?.version;
    try {
      const session = await api.session();
      this.session = session;
      this.isOutdated = before !== undefined && before !== session.version;
    } catch {
      // Told by the connection's own state.
    }
  }

  #open(session: Session): void {
    this.session = session;
    this.access = { state: 'open' };
    feed.start();
  }
}

export const gate = new Gate();

onLocked(() => gate.expire());
feed.listen((message) => {
  if (message.type === 'standing') {
    if (message.standing.state === 'expired') gate.expire();
    // Unlocked in another tab.
    else if (message.standing.state === 'live' && gate.access.state === 'expired') void gate.check();
  }
  if (message.type === 'restarted') void gate.compareVersion();
});
