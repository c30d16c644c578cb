/** The navigation entries, in display order. */

import type { IconName } from '../components/icons';
import type { PageName } from '../router';

export interface NavigationEntry {
  path: string;
  title: string;
  icon: IconName;
  /** The pages that belong to this entry. */
  pages: PageName[];
}

export const NAVIGATION_ENTRIES: NavigationEntry[] = [
  { path: '/inbox', title: 'Inbox', icon: 'inbox', pages: ['inbox'] },
  { path: '/replies', title: 'Replies', icon: 'replies', pages: ['replies', 'reply', 'artifact'] },
  { path: '/live', title: 'Live', icon: 'live', pages: ['live', 'stream'] },
  { path: '/tools', title: 'Tools', icon: 'tools', pages: ['tools', 'tool'] },
  { path: '/agents', title: 'Agents', icon: 'agents', pages: ['agents'] },
  { path: '/ledger', title: 'Ledger', icon: 'ledger', pages: ['ledger', 'entry'] },
  { path: '/playground', title: 'Playground', icon: 'playground', pages: ['playground'] },
  { path: '/settings', title: 'Settings', icon: 'settings', pages: ['settings'] },
];

/** The number of entries in the bottom bar of a phone; the others are in the "More" menu. */
export const PHONE_ENTRY_COUNT = 4;

/** Returns the entry that a page belongs to. */
export function entryOfPage(page: PageName): NavigationEntry | undefined {
  return NAVIGATION_ENTRIES.find((entry) => entry.pages.includes(page));
}

// Other page names that people may type as the first path segment.
const ALIASES: Record<string, string> = { r: '/replies', case: '/inbox', cases: '/inbox', decisions: '/inbox', stream: '/live', streams: '/live', entry: '/ledger', entries: '/ledger' };

/** Suggests the entry that an unknown address most likely means. */
export function suggestEntry(path: string): string {
  const word = path.split('/')[1]?.toLowerCase() ?? '';
  const similar = NAVIGATION_ENTRIES.find((entry) => word.length >= 3 && entry.path.startsWith(`/${word.slice(0, 3)}`));
  return (Object.hasOwn(ALIASES, word) ? ALIASES[word] : similar?.path) ?? '/inbox';
}
