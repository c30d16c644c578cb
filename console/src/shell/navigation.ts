/** The entries of the navigation, in their order. */

import type { IconName } from '../parts/icons';
import type { PageName } from '../router';

export interface Place {
  path: string;
  title: string;
  icon: IconName;
  /** The pages that belong to this entry. */
  pages: PageName[];
}

export const PLACES: Place[] = [
  { path: '/inbox', title: 'Inbox', icon: 'inbox', pages: ['inbox'] },
  { path: '/replies', title: 'Replies', icon: 'replies', pages: ['replies', 'reply', 'artifact'] },
  { path: '/live', title: 'Live', icon: 'live', pages: ['live', 'stream'] },
  { path: '/tools', title: 'Tools', icon: 'tools', pages: ['tools', 'tool'] },
  { path: '/agents', title: 'Agents', icon: 'agents', pages: ['agents'] },
  { path: '/ledger', title: 'Ledger', icon: 'ledger', pages: ['ledger', 'entry'] },
  { path: '/playground', title: 'Playground', icon: 'playground', pages: ['playground'] },
  { path: '/settings', title: 'Settings', icon: 'settings', pages: ['settings'] },
];

/** How many fit into the bar at the bottom of a phone; the others are behind "More". */
export const ON_PHONE = 4;

/** The place a page belongs to. */
export function placeOf(page: PageName): Place | undefined {
  return PLACES.find((place) => place.pages.includes(page));
}

// Other names for pages that people type as the first word of an address.
const ALIASES: Record<string, string> = { r: '/replies', case: '/inbox', cases: '/inbox', decisions: '/inbox', stream: '/live', streams: '/live', entry: '/ledger', entries: '/ledger' };

/** The place that an address without a page most likely means. */
export function likelyPlace(path: string): string {
  const word = path.split('/')[1]?.toLowerCase() ?? '';
  const similar = PLACES.find((place) => word.length >= 3 && place.path.startsWith(`/${word.slice(0, 3)}`));
  return (Object.hasOwn(ALIASES, word) ? ALIASES[word] : similar?.path) ?? '/inbox';
}
