import { expect, it } from 'vitest';
import type { CaseDocument } from '../api/types';
import { ExactNumber } from '../lib/json';
import { decisionBody, isOlder, concurrentDecision } from './submission';

const shown = { case: { digest: 'ab', revision: 3 } } as CaseDocument;

it('binds a decision to what was shown, digit by digit', () => {
  const choice = { decision: 'modify', arguments: { id: new ExactNumber('12345678901234567890') } } as const;
  expect(decisionBody(shown, choice)).toBe('{"decision":"modify","arguments":{"id":12345678901234567890},"digest":"ab","revision":3}');
});

it('reads the winning decision of a conflict', () => {
  expect(concurrentDecision({ winning: { decision: 'reject' }, at: 'T' })).toEqual({ submission: { decision: 'reject' }, at: 'T' });
  expect(concurrentDecision(undefined)).toBeNull();
  expect(concurrentDecision({ winning: 'x' })).toBeNull();
});

it('tells which of two forms of a case came first', () => {
  const at = (revision: number, status: string, acknowledged: unknown = null) => ({ case: { revision, state: { status } }, acknowledged }) as CaseDocument;
  expect(isOlder(at(0, 'open'), at(1, 'deferred'))).toBe(true);
  expect(isOlder(at(0, 'open'), at(0, 'decided'))).toBe(true);
  expect(isOlder(at(0, 'decided'), at(0, 'decided', {}))).toBe(true);
  expect(isOlder(at(0, 'decided'), at(0, 'open'))).toBe(false);
  expect(isOlder(at(1, 'open'), at(0, 'decided'))).toBe(false);
  expect(isOlder(at(0, 'open'), at(0, 'open'))).toBe(false);
});
