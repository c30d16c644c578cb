/** The routes of the console's HTTP API, one function each. */

import { type Query, request, requestExactly } from './request';
import type {
  AgentList,
  CallCheck,
  CaseDocument,
  CasePage,
  Example,
  JsonObject,
  Ledger,
  LedgerEntry,
  LedgerPage,
  Overview,
  Part,
  Proof,
  Reply,
  ReplyPage,
  Session,
  SessionRow,
  StreamDetail,
  StreamEvents,
  StreamRow,
  ToolList,
  PlaygroundResult,
  Verification,
} from './types';

type Signal = AbortSignal | undefined;
const one = (path: string, id: string | number): string => `${path}/${encodeURIComponent(String(id))}`;

export const api = {
  session: (signal?: Signal) => request<Session>('/api/session', { signal }),
  unlock: (token: string) => request<Session>('/api/session', { method: 'POST', body: { token } }),
  lock: () => request<void>('/api/session', { method: 'DELETE' }),
  sessions: (signal?: Signal) => request<{ sessions: SessionRow[] }>('/api/sessions', { signal }),
  revoke: (id: string) => request<void>(one('/api/sessions', id), { method: 'DELETE' }),

  overview: (signal?: Signal) => request<Overview>('/api/overview', { signal }),

  replies: (query: Query, signal?: Signal) => request<ReplyPage>('/api/replies', { query, signal }),
  // `requestExactly` preserves every digit of the recorded numbers.
  reply: (id: string, signal?: Signal) => requestExactly<Reply>(one('/api/replies', id), { signal }),
  replyAs: (id: string, contract: string, signal?: Signal) =>
    requestExactly<{ document: JsonObject; losses: string[] }>(one('/api/replies', id), { query: { as: contract }, signal }),
  replyProof: (id: string, signal?: Signal) => request<Proof>(`${one('/api/replies', id)}/proof`, { signal }),

  // Arguments that a person edits and sends back must preserve every digit.
  cases: (query: Query, signal?: Signal) => requestExactly<CasePage>('/api/cases', { query, signal }),
  case: (id: string, signal?: Signal) => requestExactly<CaseDocument>(one('/api/cases', id), { signal }),
  /** Sends `text` as the whole body; see `RequestOptions.text`. */
  decide: (id: string, text: string) => requestExactly<CaseDocument>(`${one('/api/cases', id)}/decision`, { method: 'POST', text }),

  streams: (signal?: Signal) => request<{ streams: StreamRow[] }>('/api/streams', { signal }),
  // `requestExactly` preserves every digit, as for a reply.
  stream: (id: string, signal?: Signal) => requestExactly<StreamDetail>(one('/api/streams', id), { signal }),
  streamEvents: (id: string, after: number, limit: number, signal?: Signal) =>
    requestExactly<StreamEvents>(`${one('/api/streams', id)}/events`, { query: { after, limit }, signal }),

  tools: (signal?: Signal) => request<ToolList>('/api/tools', { signal }),
  /** Sends `argumentsText` unparsed, so that the server checks exactly what a model would have sent. */
  checkCall: (tool: string, argumentsText: string) =>
    request<CallCheck>('/api/calls/check', {
      method: 'POST',
      text: `{"id":"by-hand","tool":${JSON.stringify(tool)},"arguments":${argumentsText}}`,
    }),

  agents: (signal?: Signal) => request<AgentList>('/api/agents', { signal }),

  ledger: (signal?: Signal) => request<Ledger>('/api/ledger', { signal }),
  entries: (query: Query, signal?: Signal) => request<LedgerPage>('/api/ledger/entries', { query, signal }),
  entry: (index: number, signal?: Signal) =>
    request<LedgerEntry & { parts: Part[] }>(one('/api/ledger/entries', index), { signal }),
  entryProof: (index: number, signal?: Signal) => request<Proof>(`${one('/api/ledger/entries', index)}/proof`, { signal }),
  consistency: (from: number, to: number) =>
    request<{ from: number; to: number; hashes: string[] }>('/api/ledger/consistency', { query: { from, to } }),
  verify: () => request<Verification>('/api/ledger/verify', { method: 'POST' }),

  tryDocument: (text: string, query: Query) => requestExactly<PlaygroundResult>('/api/playground', { method: 'POST', text, query }),
  examples: (signal?: Signal) => requestExactly<{ examples: Example[] }>('/api/examples', { signal }),
};
