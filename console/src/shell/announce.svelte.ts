/** Words for screen readers. Boundaries only ("Decision recorded"), never a stream's every step. */

class Announcer {
  polite = $state('');
  assertive = $state('');
}

export const announcer = new Announcer();

function say(region: 'polite' | 'assertive', text: string): void {
  // The same text twice is no change to a reader; a trailing no-break space makes it one.
  announcer[region] = announcer[region] === text ? `${text}\u00a0` : text;
}

/** Says something when the reader is free. */
export function announce(text: string): void {
  say('polite', text);
}

/** Says something at once; for what a person must not miss. */
export function alertNow(text: string): void {
  say('assertive', text);
}
