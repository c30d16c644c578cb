/** Labels of the ledger's entry kinds. */

import type { IconName } from '../components/icons';

export const ENTRY_KINDS: { name: string; title: string; icon: IconName }[] = [
  { name: 'config', title: 'Configuration', icon: 'settings' },
  { name: 'request', title: 'Request', icon: 'right' },
  { name: 'response', title: 'Response', icon: 'replies' },
  { name: 'rejected', title: 'Rejected', icon: 'blocked' },
  { name: 'validation', title: 'Failed call', icon: 'warning' },
  { name: 'escalation', title: 'Escalation', icon: 'escalation' },
  { name: 'decision', title: 'Decision', icon: 'check' },
  { name: 'erasure', title: 'Erasure', icon: 'trash' },
  { name: 'prune', title: 'Pruning', icon: 'trash' },
];

export function entryKind(name: string): { title: string; icon: IconName } {
  return ENTRY_KINDS.find((kind) => kind.name === name) ?? { title: name, icon: 'info' };
}

/** The entry kinds that also have a reply page. */
export const REPLY_KINDS = ['response', 'rejected', 'validation', 'escalation'];
