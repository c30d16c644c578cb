/** Announcements for screen readers. Only milestones are announced ("Decision recorded"), not every stream event. */

class Announcer {
  polite = $state('');
  assertive = $state('');
}

export const announcer = new Announcer();

function say(region: 'polite' | 'assertive', text: string): void {
  // Screen readers ignore unchanged text, so a repeated text gets a trailing no-break space.
  announcer[region] = announcer[region] === text ? `${text}\u00a0` : text;
}

/** Announces a text politely, after current speech. */
export function announce(text: string): void {
  say('polite', text);
}

/** Announces an urgent text at once. */
export function announceUrgently(text: string): void {
  say('assertive', text);
}
