/** Types of the JSON documents of the console's HTTP API. */

import type { JsonObject, UIEnvelope } from '../envelope/types';

export type { JsonObject, UIEnvelope };

export interface Session {
  principal: string;
  scopes: string[];
  server: string;
  version: string;
  log: string | null;
  demo: boolean;
  /** Commands for this server: create a launch link, verify the ledger, open the inbox in the terminal. */
  commands: { link?: string; verify?: string; inbox?: string };
}

export interface SessionRow {
  id: string;
  created: string;
  last_used: string;
  is_current: boolean;
}

export interface Overview {
  waiting: number;
  replies: number;
  size: number;
  streams_open: number;
}

export interface Finding {
  error_code: string;
  field_path: string;
  message: string;
  severity: 'error' | 'warning' | 'info';
  expected_value?: unknown;
  actual_value?: unknown;
}

export interface ReplyRow {
  id: string | null;
  index: number;
  time: string;
  kind: string;
  contract: string | null;
  outcome: string | null;
  tool: string | null;
  agent: string | null;
  server: string | null;
  principal: string | null;
  summary: string;
  artifacts: Record<string, number>;
  live_stream_id: string | null;
  erased: boolean;
}

export interface ReplyPage {
  replies: ReplyRow[];
  next: number | null;
  size: number;
}

export interface Part {
  name: string;
  bytes: number;
  text: string | null;
  erased?: boolean;
}

export interface Reply {
  reply: ReplyRow;
  contract: string | null;
  document: JsonObject | null;
  ui: UIEnvelope | null;
  losses: string[];
  findings: Finding[];
  request: { index: number; seen: unknown; sent: unknown } | null;
  parts: Part[];
  cases: string[];
  presentation: { presentation: string; reason: string } | null;
}

export type ProofState = 'verified' | 'recorded' | 'mismatch' | 'unverified';

export interface Proof {
  state: ProofState;
  checked_by: string;
  checks: { name: string; ok: boolean; detail: string }[];
  index: number;
  leaf_hash: string;
  leaf: unknown;
  size: number;
  root: string;
  checkpoint: string;
  receipt: string;
  key: string;
  command: string;
}

export type CaseKind = 'proposal' | 'question' | 'escalation';
export type DecisionKind = 'approve' | 'modify' | 'respond' | 'reject' | 'defer';

export interface Submission {
  decision: DecisionKind;
  arguments?: unknown;
  reason?: string;
  message?: string;
  until?: string;
  digest: string;
  revision: number;
  by?: string;
}

export type CaseState = { status: 'open' } | { status: 'deferred' | 'decided'; submission: Submission; at: string };

export interface CaseDocument {
  case: {
    id: string;
    kind: CaseKind;
    digest: string;
    revision: number;
    allowed: DecisionKind[];
    expires: string;
    state: CaseState;
  };
  created: string;
  content: JsonObject;
  reference: string | null;
  is_expired: boolean;
  acknowledged: { at: string; by: string; outcome: string; note: string | null } | null;
}

export interface CasePage {
  cases: CaseDocument[];
  next: string | null;
}

export interface LiveEvent {
  seq: number;
  time: string;
  stream: string;
  kind: string;
  body: unknown;
}

export interface StreamRow {
  id: string;
  events: number;
  first: string | null;
  last: string | null;
  last_kind: string | null;
  ended: boolean;
  outcome: string | null;
}

export interface StreamDetail extends StreamRow {
  envelope: UIEnvelope | null;
  as_of_seq: number;
  warnings: string[];
}

export interface StreamEvents {
  events: LiveEvent[];
  gap: { from: number; to: number } | null;
  after: number;
}

export interface ToolRow {
  server: string;
  name: string;
  title: string | null;
  description: string | null;
  input_schema: JsonObject | null;
  is_changed: boolean;
  remarks: { weight: 'error' | 'warning' | 'info'; text: string }[];
  calls: number;
  ok: number;
  failed: number;
  escalated: number;
  rejected: number;
  failures: { code: string; path?: string; count: number }[];
}

export interface ToolList {
  tools: ToolRow[];
  since_index: number;
  servers: { name: string; is_up: boolean; place: string }[];
}

export interface CallCheck {
  tool_call_id: string;
  tool: string;
  valid: boolean;
  attempt: number;
  max_attempts: number;
  status: string;
  errors: Finding[];
  repair: { patch: unknown; arguments: unknown; confidence: string } | null;
  result: { role: string; content: unknown; is_error: boolean } | null;
}

export interface AgentRow {
  id: string;
  version: string;
  file: string;
  expected_hash: string | null;
  actual_hash: string | null;
  state: string;
  type: string;
}

export interface AgentList {
  configured: boolean;
  manifest: { file: string; prompts: number } | null;
  lock: { file: string; prompts: number; generated: string } | null;
  problem: string | null;
  agents: AgentRow[];
}

export interface Ledger {
  origin: string;
  size: number;
  root: string;
  checkpoint: string;
  key: string;
  witnessed: [string, number][];
  entries_by_kind: Record<string, number>;
}

export interface LedgerEntry {
  index: number;
  time: string;
  kind: string;
  hash: string;
  leaf: JsonObject;
}

export interface LedgerPage {
  entries: LedgerEntry[];
  next: number | null;
  size: number;
}

export interface Verification {
  ok: boolean;
  levels: { name: string; ok: boolean; detail: string; problems?: string[] }[];
  size: number;
  took_ms: number;
  root?: string;
  erased_parts?: number;
  warnings?: { what: string; count: number }[];
}

export interface PlaygroundResult {
  contract: string | null;
  valid: boolean;
  findings: Finding[];
  ui: UIEnvelope | null;
  losses: string[];
  terminal: string | null;
  conversions: Record<string, JsonObject>;
}

export interface Example {
  name: string;
  title: string;
  document: unknown;
}
