import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CaseDocument, DecisionKind, Session } from '../api/types';
import { sessionStore } from '../session.svelte';
import DecisionCard from './DecisionCard.svelte';

const session: Session = { principal: 'console', scopes: ['read', 'decide'], server: 's', version: '1', log: null, demo: false, commands: {} };

function proposal(overrides: { risk?: string; allowed?: DecisionKind[] } = {}): CaseDocument {
  return {
    case: { id: 'c1', kind: 'proposal', digest: 'ab'.repeat(32), revision: 3, allowed: overrides.allowed ?? ['approve', 'modify', 'reject'], expires: '2999-01-01T00:00:00Z', state: { status: 'open' } },
    created: '2026-11-16T10:00:00Z',
    content: { title: 'Move ships', arguments: { count: 3 }, risk: overrides.risk ?? 'low', reply: null, suggested_actions: ['Explode'] },
    reference: null,
    is_expired: false,
    acknowledged: null,
  };
}

function answerWith(status: number, body: unknown) {
  const fetched = vi.fn(async (_path: string, _options?: RequestInit) => new Response(JSON.stringify(body), { status }));
  vi.stubGlobal('fetch', fetched);
  return fetched;
}

const decided = (document: CaseDocument): CaseDocument => ({
  ...document,
  case: { ...document.case, state: { status: 'decided', at: '2026-11-16T10:01:00Z', submission: { decision: 'approve', digest: document.case.digest, revision: 3, by: 'console' } } },
});

beforeEach(() => {
  sessionStore.session = session;
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

describe('a decision card', () => {
  it('offers only what the server allows, and suggestions as words alone', () => {
    render(DecisionCard, { document: proposal({ allowed: ['reject'] }), changed: () => {} });
    expect(screen.queryByRole('button', { name: /Approve/ })).toBeNull();
    expect(screen.queryByRole('button', { name: /Reject/ })).not.toBeNull();
    expect(screen.queryByText('Explode')).not.toBeNull();
    expect(screen.queryByRole('button', { name: /Explode/ })).toBeNull();
  });

  it('sends the digest and the revision of what was shown', async () => {
    const document = proposal();
    const fetched = answerWith(201, decided(document));
    const changed = vi.fn();
    render(DecisionCard, { document, changed });
    await fireEvent.click(screen.getByRole('button', { name: /Approve/ }));
    await vi.waitFor(() => expect(changed).toHaveBeenCalled());
    expect(fetched.mock.calls[0]?.[0]).toBe('/api/cases/c1/decision');
    expect(JSON.parse(String(fetched.mock.calls[0]?.[1]?.body))).toEqual({ decision: 'approve', digest: 'ab'.repeat(32), revision: 3 });
    expect(screen.queryByText('Not yet acknowledged')).not.toBeNull();
  });

  it('asks again before a high risk, and for a single key', async () => {
    const fetched = answerWith(201, {});
    render(DecisionCard, { document: proposal({ risk: 'high' }), changed: () => {} });
    await fireEvent.click(screen.getByRole('button', { name: /^Approve/ }));
    expect(screen.queryByRole('button', { name: 'Yes, approve' })).not.toBeNull();
    cleanup();
    render(DecisionCard, { document: proposal(), changed: () => {} });
    await fireEvent.keyDown(window, { key: 'a' });
    expect(screen.queryByRole('button', { name: 'Yes, approve' })).not.toBeNull();
    expect(fetched).not.toHaveBeenCalled();
  });

  it('shows the decision that won', async () => {
    const body = { status: 'error', data: { code: 'ALREADY_DECIDED', message: 'decided', details: { received: { winning: { decision: 'reject', by: 'grace' }, at: '2026-11-16T10:00:30Z' } } } };
    answerWith(409, body);
    render(DecisionCard, { document: proposal(), changed: () => {} });
    await fireEvent.click(screen.getByRole('button', { name: /Approve/ }));
    expect((await screen.findByText(/Already decided\./)).parentElement?.textContent).toContain('rejected by grace');
  });

  it('offers to send again when no answer came', async () => {
    vi.stubGlobal('fetch', vi.fn(async () => Promise.reject(new TypeError('offline'))));
    render(DecisionCard, { document: proposal(), changed: () => {} });
    await fireEvent.click(screen.getByRole('button', { name: /Approve/ }));
    expect(await screen.findByRole('button', { name: 'Send again' })).not.toBeNull();
  });

  it('has words instead of buttons for a session that only reads', () => {
    sessionStore.session = { ...session, scopes: ['read'] };
    render(DecisionCard, { document: proposal(), changed: () => {} });
    expect(screen.queryByText('Read-only session')).not.toBeNull();
    expect(screen.queryByRole('button', { name: /Approve|Modify|Reject/ })).toBeNull();
  });
});
