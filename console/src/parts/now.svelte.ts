/** One clock for all ages and countdowns of the page. It ticks while anything shows the time, and not beyond it. */

import { createSubscriber } from 'svelte/reactivity';

class Clock {
  readonly #ticks = createSubscriber((tick) => {
    const timer = setInterval(() => {
      // A hidden page draws nothing; it catches up when it is looked at.
      if (!document.hidden) tick();
    }, 1_000);
    return () => clearInterval(timer);
  });

  get now(): number {
    this.#ticks();
    return Date.now();
  }
}

export const clock = new Clock();
