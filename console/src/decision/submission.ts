/** The request body of a decision, bound to the digest and revision that were displayed. */

import type { CaseDocument, DecisionKind, Submission } from '../api/types';
import { isObject } from '../envelope/types';
import { writeJson } from '../lib/json';

export interface Choice {
  decision: DecisionKind;
  arguments?: unknown;
  reason?: string;
  message?: string;
  until?: string;
}

/** Serializes a decision and preserves every digit of the arguments. */
export function decisionBody(displayedCase: CaseDocument, choice: Choice): string {
  return writeJson({ ...choice, digest: displayedCase.case.digest, revision: displayedCase.case.revision }, 0);
}

/** True if `one` is an earlier version of the same case, because responses may arrive out of order. */
export function isOlder(one: CaseDocument, other: CaseDocument): boolean {
  if (one.case.revision !== other.case.revision) return one.case.revision < other.case.revision;
  return other.case.state.status === 'decided' && (one.case.state.status !== 'decided' || (one.acknowledged === null && other.acknowledged !== null));
}

/** Parses the decision that was recorded first from the details of the conflict. */
export function concurrentDecision(received: unknown): { submission: Submission; at: string } | null {
  if (!isObject(received) || !isObject(received.winning)) return null;
  return { submission: received.winning as unknown as Submission, at: typeof received.at === 'string' ? received.at : '' };
}
