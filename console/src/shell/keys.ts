/** Single-key shortcuts: which are there, and when a key press is meant for them. */

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
      { keys: '[', does: 'Artifact before' },
      { keys: ']', does: 'Next artifact' },
    ],
  },
];

/** Where the `g` key followed by a letter leads. */
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

/** Whether a key press is a shortcut, and not text or a command of the browser. */
export function isShortcut(event: KeyboardEvent): boolean {
  if (!settings.hasSingleKeys || event.defaultPrevented || event.isComposing) return false;
  if (event.metaKey || event.ctrlKey || event.altKey) return false;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return true;
  // Trees, grids and sliders have keys of their own.
  return !target.isContentEditable && !target.closest('input, textarea, select, [role="tree"], [role="grid"], [role="slider"], [data-own-keys]');
}

/** Moves the focus along the links marked `data-row` of a page. True when there was one to move to. */
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
