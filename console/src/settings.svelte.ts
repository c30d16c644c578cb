/** Personal preferences, stored only in this browser. */

export type Theme = 'system' | 'light' | 'dark';
export type TimeZone = 'local' | 'utc';

interface Preferences {
  theme: Theme;
  timeZone: TimeZone;
  hasSingleKeys: boolean;
  isSpreadsheetSafe: boolean;
  /** Enables browser notifications about waiting cases while the page is hidden. */
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
    // Without storage the preferences last until the page closes.
    return { ...STANDARD };
  }
}

/** The preferences. Read members anywhere; change them with `change`. */
export const settings: Preferences = $state(stored());

/** Changes and stores preferences. */
export function change(some: Partial<Preferences>): void {
  Object.assign(settings, some);
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Storage may be blocked; see `stored`.
  }
  applyTheme();
}

/** Applies the theme to the document. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = settings.theme;
}

// Another tab changed the preferences.
addEventListener('storage', (event) => {
  if (event.key !== KEY) return;
  Object.assign(settings, stored());
  applyTheme();
});
