/** A value loaded from the server, with its loading state and error. */

import { asProblem, type Problem } from '../api/problem';

export class Resource<Value> {
  value: Value | null = $state.raw(null);
  problem: Problem | null = $state.raw(null);
  isLoading = $state(false);
  #under: AbortController | null = null;

  /** Reloads the value. The previous one stays visible meanwhile, and the newest load wins. */
  async load(fetch: (signal: AbortSignal) => Promise<Value>, options: { isFresh?: boolean } = {}): Promise<void> {
    this.#under?.abort();
    const under = new AbortController();
    this.#under = under;
    this.isLoading = true;
    if (options.isFresh) this.value = null;
    try {
      const value = await fetch(under.signal);
      if (this.#under !== under) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (this.#under !== under) return;
      this.problem = asProblem(error);
    }
    this.isLoading = false;
  }

  /** Cancels the running load. */
  cancel(): void {
    this.#under?.abort();
    this.#under = null;
  }
}
