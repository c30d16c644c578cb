/** A shared clock for all ages and countdowns. It ticks only while a component uses it. */

import { createSubscriber } from 'svelte/reactivity';

class Clock {
  readonly #ticks = createSubscriber((tick) => {
    const timer = setInterval(() => {
      // A hidden page does not update; the clock catches up when it becomes visible.
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
