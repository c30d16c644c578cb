import { render, screen, waitFor } from '@testing-library/svelte';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { CaseDocument } from '../api/types';
import { FakeEvents } from '../live/fake-events';
import { feed } from '../live/feed.svelte';
import Inbox from './Inbox.svelte';

function document(id: string, decision: string | null, isAcknowledged = false): CaseDocument {
  return {
    case: { id, kind: 'proposal', digest: `sha256:${id}`, revision: 1, allowed: ['approve', 'reject'], expires: '2100-01-01T00:00:00Z', state: decision === null ? { status: 'open' } : { status: 'decided', submission: { decision: 'approve', digest: '', revision: 1 }, at: '2026-01-01T00:00:00Z' } },
    created: '2026-01-01T00:00:00Z',
    content: { title: `Move ${id}` },
    reference: null,
    is_expired: false,
    acknowledged: isAcknowledged ? { at: '2026-01-01T00:00:01Z', by: 'agent', outcome: 'done', note: null } : null,
  } as CaseDocument;
}

describe('news of a decision', () => {
  let requests: string[];
  let one: CaseDocument;

  beforeEach(() => {
    requests = [];
    one = document('one', null);
    vi.stubGlobal('EventSource', FakeEvents);
    vi.stubGlobal('fetch', vi.fn((address: string) => {
      requests.push(address);
      const answer = address.startsWith('/api/cases/') ? one : { cases: [one, document('two', null)], next: null };
      return Promise.resolve(new Response(JSON.stringify(answer)));
    }));
  });

  it('shows in the list at once, for the case alone', async () => {
    feed.start();
    render(Inbox);
    await screen.findByText('Move one');
    requests = [];
    one = document('one', 'approve');
    FakeEvents.last?.send('decision', { seq: 5, case: 'one', kind: 'proposal', decision: 'approve', state: 'recorded' });
    await screen.findByText('not acknowledged');
    one = document('one', 'approve', true);
    FakeEvents.last?.send('decision', { seq: 6, case: 'one', kind: 'proposal', decision: 'approve', state: 'acknowledged' });
    await screen.findByText('acknowledged');
    // A case that is not on the page is not requested.
    FakeEvents.last?.send('decision', { seq: 7, case: 'elsewhere', kind: 'proposal', decision: 'approve', state: 'recorded' });
    await waitFor(() => expect(requests).toEqual(['/api/cases/one', '/api/cases/one']));
    expect(screen.getByText('Move two')).toBeTruthy();
  });
});
