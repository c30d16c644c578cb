/** A value loaded from the server, with its loading state and error. */

import { asProblem, type Problem } from '../api/problem';

export class Resource<Value> {
  value: Value | null = $state.raw(null);
  problem: Problem | null = $state.raw(null);
  isLoading = $state(false);
  #pendingLoad: AbortController | null = null;

  /** Reloads the value. The previous one stays visible meanwhile, and the newest load wins. */
  async load(fetch: (signal: AbortSignal) => Promise<Value>, options: { isFresh?: boolean } = {}): Promise<void> {
    this.#pendingLoad?.abort();
    const pendingLoad = new AbortController();
    this.#pendingLoad = pendingLoad;
    this.isLoading = true;
    if (options.isFresh) this.value = null;
    try {
      const value = await fetch(pendingLoad.signal);
      if (this.#pendingLoad !== pendingLoad) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (this.#pendingLoad !== pendingLoad) return;
      this.problem = asProblem(error);
    }
    this.isLoading = false;
  }

  /** Cancels the running load. */
  cancel(): void {
    this.#pendingLoad?.abort();
    this.#pendingLoad = null;
  }
}
