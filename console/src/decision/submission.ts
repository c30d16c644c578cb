/** The body of a decision, bound to exactly what was shown. */

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

/** JSON text, with every digit of the arguments. */
export function bodyOf(shown: CaseDocument, choice: Choice): string {
  return writeJson({ ...choice, digest: shown.case.digest, revision: shown.case.revision }, 0);
}

/** Whether `one` is the same case at an earlier time: an answer may overtake the one asked for before it. */
export function isOlder(one: CaseDocument, other: CaseDocument): boolean {
  if (one.case.revision !== other.case.revision) return one.case.revision < other.case.revision;
  return other.case.state.status === 'decided' && (one.case.state.status !== 'decided' || (one.acknowledged === null && other.acknowledged !== null));
}

/** The decision that was faster than ours, from the details of the conflict. */
export function winnerOf(received: unknown): { submission: Submission; at: string } | null {
  if (!isObject(received) || !isObject(received.winning)) return null;
  return { submission: received.winning as unknown as Submission, at: typeof received.at === 'string' ? received.at : '' };
}
