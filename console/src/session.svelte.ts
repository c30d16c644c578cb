/** The session of this browser with the server. */

import { api } from './api';
import { asProblem, type Problem } from './api/problem';
import { onLocked } from './api/request';
import type { Session } from './api/types';
import { feed } from './live/feed.svelte';

type Access =
  | { state: 'checking' }
  | { state: 'locked' }
  /** The session was open in this tab; the page stays mounted behind a dialog. */
  | { state: 'expired' }
  | { state: 'unreachable'; problem: Problem }
  | { state: 'open' };

class SessionStore {
  access: Access = $state.raw({ state: 'checking' });
  session: Session | null = $state.raw(null);
  /** True if the server's version differs from the version of this page. */
  isOutdated = $state(false);

  get mayDecide(): boolean {
    return this.session?.scopes.includes('decide') ?? false;
  }

  /** Checks whether this browser has a session. */
  async check(): Promise<void> {
    try {
      this.#open(await api.session());
    } catch (error) {
      const problem = asProblem(error);
      this.access = problem.status === 401 ? { state: 'locked' } : { state: 'unreachable', problem };
    }
  }

  /** Exchanges a token for a session. Throws the problem if the server rejects it. */
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

  /** Checks after a server restart whether the version has changed. */
  async compareVersion(): Promise<void> {
    const before = this.session?.version;
    try {
      const session = await api.session();
      this.session = session;
      this.isOutdated = before !== undefined && before !== session.version;
    } catch {
      // The connection pill reports the failure.
    }
  }

  #open(session: Session): void {
    this.session = session;
    this.access = { state: 'open' };
    feed.start();
  }
}

export const sessionStore = new SessionStore();

onLocked(() => sessionStore.expire());
feed.listen((message) => {
  if (message.type === 'connectionState') {
    if (message.connectionState.state === 'expired') sessionStore.expire();
    // Another tab was unlocked.
    else if (message.connectionState.state === 'live' && sessionStore.access.state === 'expired') void sessionStore.check();
  }
  if (message.type === 'restarted') void sessionStore.compareVersion();
});
