/**
 * Reloads a list after changes, at a limited rate.
 *
 * Every event of a busy server concerns every open page. So only one load runs at a time. A pause in proportion to
 * the load time follows it, further events during the pause count as one, and hidden pages do not load.
 */

export interface RefreshEnvironment {
  now(): number;
  later(run: () => void, milliseconds: number): unknown;
  cancel(timer: unknown): void;
  isHidden(): boolean;
  /** Calls `run` when the page becomes visible or hidden. Returns a function that unsubscribes it. */
  onVisibility(run: () => void): () => void;
}

/** Minimum time between two loads. */
const MIN_PAUSE = 1_000;
/** The pause is this many times the duration of the load. */
const PAUSE_PER_LOAD_TIME = 4;

const browser: RefreshEnvironment = {
  now: () => performance.now(),
  later: (run, milliseconds) => setTimeout(run, milliseconds),
  cancel: (timer) => clearTimeout(timer as number),
  isHidden: () => document.hidden,
  onVisibility: (run) => {
    document.addEventListener('visibilitychange', run);
    return () => document.removeEventListener('visibilitychange', run);
  },
};

export class Refresher {
  #isRequested = false;
  #isLoading = false;
  #isStopped = false;
  #timer: unknown = null;
  readonly #unlisten: () => void;

  constructor(
    private readonly load: () => Promise<unknown>,
    private readonly environment: RefreshEnvironment = browser,
  ) {
    this.#unlisten = environment.onVisibility(() => this.#step());
  }

  /** Requests a load: at once if none is running or has just finished, otherwise after the pause. */
  request(): void {
    this.#isRequested = true;
    this.#step();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unlisten();
    if (this.#timer !== null) this.environment.cancel(this.#timer);
    this.#timer = null;
  }

  #step(): void {
    if (this.#isStopped || !this.#isRequested || this.#isLoading || this.#timer !== null || this.environment.isHidden()) return;
    void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRequested = false;
    this.#isLoading = true;
    const began = this.environment.now();
    try {
      await this.load();
    } catch {
      // The owner of `load` displays its errors.
    }
    this.#isLoading = false;
    if (this.#isStopped) return;
    const pause = Math.max(MIN_PAUSE, PAUSE_PER_LOAD_TIME * (this.environment.now() - began));
    this.#timer = this.environment.later(() => {
      this.#timer = null;
      this.#step();
    }, pause);
  }
}
