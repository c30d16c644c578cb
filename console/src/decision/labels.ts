/** The labels of cases and decisions, from the view of the waiting agent. */

import type { CaseDocument, CaseKind, DecisionKind } from '../api/types';
import { asList, asText, firstText } from '../envelope/types';
import { displayText } from '../lib/text';
import type { IconName } from '../components/icons';

export const KIND: Record<CaseKind, { title: string; icon: IconName }> = {
  proposal: { title: 'Proposal', icon: 'mission' },
  question: { title: 'Question', icon: 'question' },
  escalation: { title: 'Escalation', icon: 'escalation' },
};

const MAX_TITLE_LENGTH = 600;

interface DecisionLabels {
  /** Label of the button. */
  action: string;
  /** One sentence on the effect. */
  meaning: string;
  /** Past tense, for a recorded decision. */
  done: string;
}

const PROPOSAL: Record<DecisionKind, DecisionLabels> = {
  approve: { action: 'Approve', meaning: 'The agent may act exactly as shown.', done: 'Approved' },
  modify: { action: 'Modify', meaning: 'The agent may act with your arguments instead.', done: 'Approved with changed arguments' },
  reject: { action: 'Reject', meaning: 'The agent must not act.', done: 'Rejected' },
  respond: { action: 'Respond', meaning: 'The agent gets your message and may propose again.', done: 'Answered' },
  defer: { action: 'Defer', meaning: 'The case waits; nothing is done until you decide.', done: 'Deferred' },
};

const QUESTION: Record<DecisionKind, DecisionLabels> = {
  ...PROPOSAL,
  respond: { action: 'Answer', meaning: 'The agent gets your answer.', done: 'Answered' },
  reject: { action: 'Decline', meaning: 'The agent gets the reply that its question stays unanswered.', done: 'Declined' },
};

const ESCALATION: Record<DecisionKind, DecisionLabels> = {
  approve: { action: 'Run once anyway', meaning: 'This call runs once although its check failed.', done: 'Check waived once' },
  modify: { action: 'Correct arguments', meaning: 'The call runs with your arguments, once they pass the check.', done: 'Arguments corrected' },
  respond: { action: 'Guide the model', meaning: 'The model gets your message and may try again.', done: 'Model guided' },
  reject: { action: 'Stop', meaning: 'The tool is not called again for this.', done: 'Stopped' },
  defer: { action: 'Defer', meaning: 'The call stays blocked until you decide.', done: 'Deferred' },
};

export function decisionLabels(kind: CaseKind, decision: DecisionKind): DecisionLabels {
  const words = kind === 'question' ? QUESTION : kind === 'escalation' ? ESCALATION : PROPOSAL;
  return words[decision] ?? { action: decision, meaning: '', done: decision };
}

/** Formats a one-line title of a case; the card has the full text. */
export function caseTitle(document: CaseDocument): string {
  return displayText(wholeTitle(document), MAX_TITLE_LENGTH);
}

function wholeTitle(document: CaseDocument): string {
  const content = document.content;
  switch (document.case.kind) {
    case 'question':
      return firstText(content, 'question') || 'A question without text';
    case 'escalation': {
      const tool = firstText(content, 'tool') || 'A tool';
      const attempts = asList(content.attempts).length;
      return attempts > 0 ? `${tool} is blocked after ${attempts} failed ${attempts === 1 ? 'attempt' : 'attempts'}` : `${tool} is blocked`;
    }
    default:
      return firstText(content, 'title', 'description', 'objective_type') || 'A proposal without a title';
  }
}

/** Returns the agent or server that opened the case. */
export function requesterOf(document: CaseDocument): string {
  const content = document.content;
  return firstText(content, 'proposed_by', 'asked_by') || asText(content.server);
}

export function isHighRisk(document: CaseDocument): boolean {
  return document.content.risk === 'high';
}
