/** Single-key shortcuts, and the check whether a key press is one. */

import { settings } from '../settings.svelte';

export interface Shortcut {
  keys: string;
  does: string;
}

export const SHORTCUTS: { title: string; shortcuts: Shortcut[] }[] = [
  {
    title: 'Everywhere',
    shortcuts: [
      { keys: '?', does: 'Show these shortcuts' },
      { keys: '/', does: 'Go to the filter of the page' },
      { keys: 'Esc', does: 'Close a dialog or a form, leave a full view' },
      { keys: 'g i', does: 'Go to the inbox' },
      { keys: 'g r', does: 'Go to the replies' },
      { keys: 'g l', does: 'Go to the live streams' },
      { keys: 'g t', does: 'Go to the tools' },
      { keys: 'g a', does: 'Go to the agents' },
      { keys: 'g e', does: 'Go to the ledger' },
      { keys: 'g p', does: 'Go to the playground' },
      { keys: 'g s', does: 'Go to the settings' },
    ],
  },
  {
    title: 'In a list',
    shortcuts: [
      { keys: 'j', does: 'Next row' },
      { keys: 'k', does: 'Row before' },
      { keys: 'Enter', does: 'Open the row' },
    ],
  },
  {
    title: 'On a decision',
    shortcuts: [
      { keys: 'a', does: 'Approve, with a step to confirm' },
      { keys: 'm', does: 'Modify the arguments' },
      { keys: 'r', does: 'Reject, with a reason' },
    ],
  },
  {
    title: 'In an artifact',
    shortcuts: [
      { keys: '[', does: 'Previous artifact' },
      { keys: ']', does: 'Next artifact' },
    ],
  },
];

/** The pages that open with `g` followed by a letter. */
export const GO: Record<string, string> = {
  i: '/inbox',
  r: '/replies',
  l: '/live',
  t: '/tools',
  a: '/agents',
  e: '/ledger',
  p: '/playground',
  s: '/settings',
};

/** True if a key press is a shortcut rather than text input or a browser command. */
export function isShortcut(event: KeyboardEvent): boolean {
  if (!settings.hasSingleKeys || event.defaultPrevented || event.isComposing) return false;
  if (event.metaKey || event.ctrlKey || event.altKey) return false;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return true;
  // Trees, grids and sliders handle keys themselves.
  return !target.isContentEditable && !target.closest('input, textarea, select, [role="tree"], [role="grid"], [role="slider"], [data-own-keys]');
}

/** Moves the focus between the links of a page that have `data-row`. Returns true if there was one. */
export function moveRow(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((row) => row.offsetParent !== null);
  if (rows.length === 0) return false;
  const present = rows.findIndex((row) => row === document.activeElement || row.getAttribute('aria-current') === 'true');
  const focused = rows.findIndex((row) => row === document.activeElement);
  const from = focused === -1 ? present : focused;
  const next = from === -1 ? (step === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, from + step));
  rows[next]?.focus();
  return true;
}
