/** The labels and icons of contracts, artifacts and outcomes. Color is never the only sign. */

import type { IconName } from '../components/icons';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info';

export const KINDS: { name: string; title: string; icon: IconName; meaning: string }[] = [
  { name: 'response', title: 'Response', icon: 'replies', meaning: 'A reply that was accepted and recorded.' },
  { name: 'rejected', title: 'Rejected', icon: 'blocked', meaning: 'A reply that was rejected.' },
  { name: 'validation', title: 'Failed call', icon: 'warning', meaning: 'A tool call that failed its check.' },
  { name: 'escalation', title: 'Escalation', icon: 'escalation', meaning: 'A call that a person must decide on.' },
];

export function kindOf(kind: string): (typeof KINDS)[number] {
  return KINDS.find((one) => one.name === kind) ?? { name: kind, title: kind, icon: 'info', meaning: '' };
}

const OUTCOMES: Record<string, { title: string; tone: Tone; icon: IconName }> = {
  ok: { title: 'OK', tone: 'good', icon: 'check' },
  success: { title: 'Success', tone: 'good', icon: 'check' },
  accepted: { title: 'Accepted', tone: 'good', icon: 'check' },
  warned: { title: 'With warnings', tone: 'warn', icon: 'warning' },
  warning: { title: 'With warnings', tone: 'warn', icon: 'warning' },
  unverified: { title: 'Unverified', tone: 'warn', icon: 'shield_question' },
  tool_error: { title: 'Tool error', tone: 'bad', icon: 'cross' },
  error: { title: 'Error', tone: 'bad', icon: 'cross' },
  refused: { title: 'Refused', tone: 'bad', icon: 'blocked' },
  rejected: { title: 'Rejected', tone: 'bad', icon: 'blocked' },
};

/** The outcomes offered by the filter. */
export const OUTCOME_NAMES = ['ok', 'warned', 'tool_error', 'error', 'refused', 'rejected'];

export function outcomeOf(outcome: string): { title: string; tone: Tone; icon: IconName } {
  return OUTCOMES[outcome] ?? { title: outcome.replaceAll('_', ' '), tone: 'neutral', icon: 'info' };
}

export const CONTRACTS: Record<string, string> = { ui: 'UI envelope', tool: 'Tool result', governed: 'Attested reply', atdf: 'ATDF' };

/** One-sentence explanations of the contracts, shown as tooltips. */
export const CONTRACT_MEANINGS: Record<string, string> = {
  ui: 'A reply with a summary and parts such as tables, charts and documents (artifacts)',
  tool: 'The result of one tool call',
  governed: 'A governed response: a reply with an attestation of the agent and the prompt that wrote it',
  atdf: 'A result or error with details on what happened and what to do next',
};

const ARTIFACTS: Record<string, { title: string; icon: IconName }> = {
  table: { title: 'table', icon: 'table' },
  chart: { title: 'chart', icon: 'chart' },
  document: { title: 'document', icon: 'document' },
  code_block: { title: 'code', icon: 'code' },
  timeline: { title: 'timeline', icon: 'timeline' },
  file_reference: { title: 'file', icon: 'file' },
  json_data: { title: 'JSON', icon: 'json' },
  mission_draft: { title: 'mission', icon: 'mission' },
  signal_batch: { title: 'signals', icon: 'signal' },
};

export function artifactOf(kind: string): { title: string; icon: IconName } {
  return ARTIFACTS[kind] ?? { title: kind, icon: 'help' };
}
