/** What this browser's person prefers. Kept in the browser alone; the server never sees it. */

export type Theme = 'system' | 'light' | 'dark';
export type TimeZone = 'local' | 'utc';

interface Preferences {
  theme: Theme;
  timeZone: TimeZone;
  hasSingleKeys: boolean;
  isSpreadsheetSafe: boolean;
  /** Whether the browser says how many cases wait while nobody looks. */
  hasNotifications: boolean;
}

const KEY = 'answerback.settings';
const STANDARD: Preferences = { theme: 'system', timeZone: 'local', hasSingleKeys: true, isSpreadsheetSafe: true, hasNotifications: false };

function stored(): Preferences {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    return {
      theme: stored.theme === 'light' || stored.theme === 'dark' ? stored.theme : STANDARD.theme,
      timeZone: stored.timeZone === 'utc' ? 'utc' : STANDARD.timeZone,
      hasSingleKeys: stored.hasSingleKeys !== false,
      isSpreadsheetSafe: stored.isSpreadsheetSafe !== false,
      hasNotifications: stored.hasNotifications === true,
    };
  } catch {
    // A browser that keeps nothing still works; it just forgets.
    return { ...STANDARD };
  }
}

/** Read members anywhere; change them by `change`. */
export const settings: Preferences = $state(stored());

/** Sets some preferences and keeps them. */
export function change(some: Partial<Preferences>): void {
  Object.assign(settings, some);
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // See `stored`.
  }
  applyTheme();
}

/** Puts the theme on the document. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = settings.theme;
}

// Another tab changed them.
addEventListener('storage', (event) => {
  if (event.key !== KEY) return;
  Object.assign(settings, stored());
  applyTheme();
});
