/** One clock for all ages and countdowns of the page. */

class Clock {
  now = $state(Date.now());
}

export const clock = new Clock();

setInterval(() => {
  // A hidden page draws nothing; it catches up when it is looked at.
  if (!document.hidden) clock.now = Date.now();
}, 1_000);
