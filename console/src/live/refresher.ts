/**
 * Loads a list anew when something has happened, as seldom as a person can bear.
 *
 * Every event of a busy server concerns every open page. So there is one load at a time; after it comes a pause, longer
 * where loading takes longer, in which all further events count as one; and nothing is loaded while nobody looks.
 */

export interface Surroundings {
  now(): number;
  later(run: () => void, milliseconds: number): unknown;
  cancel(timer: unknown): void;
  isHidden(): boolean;
  /** Calls `run` when the page is shown or hidden, until the returned function is called. */
  onVisibility(run: () => void): () => void;
}

/** The least time between two loads. */
const PAUSE = 1_000;
/** A load that takes a second is followed by a pause of this many seconds. */
const SHARE = 4;

const browser: Surroundings = {
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
    private readonly surroundings: Surroundings = browser,
  ) {
    this.#unlisten = surroundings.onVisibility(() => this.#step());
  }

  /** Asks for a load: at once if none is under way or was a moment ago, else after the pause. */
  request(): void {
    this.#isRequested = true;
    this.#step();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unlisten();
    if (this.#timer !== null) this.surroundings.cancel(this.#timer);
    this.#timer = null;
  }

  #step(): void {
    if (this.#isStopped || !this.#isRequested || this.#isLoading || this.#timer !== null || this.surroundings.isHidden()) return;
    void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRequested = false;
    this.#isLoading = true;
    const began = this.surroundings.now();
    try {
      await this.load();
    } catch {
      // Who loads shows what went wrong.
    }
    this.#isLoading = false;
    if (this.#isStopped) return;
    const pause = Math.max(PAUSE, SHARE * (this.surroundings.now() - began));
    this.#timer = this.surroundings.later(() => {
      this.#timer = null;
      this.#step();
    }, pause);
  }
}
