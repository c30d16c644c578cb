/**
 * Folds the events of a live stream into its envelope.
 *
 * This is a pure reducer: the same events give the same state in the browser, in tests and on the server. It never
 * throws; an event that it cannot apply becomes a warning.
 */

import { asList, asObject, asText, isObject, type UIEnvelope } from '../envelope/types';
import { applyPatch } from './stream-patch';

export interface LiveEvent {
  seq: number;
  time?: string;
  stream?: string;
  kind: string;
  body?: unknown;
}

export interface StreamState {
  envelope: UIEnvelope | null;
  /** The last applied sequence number; older events are ignored. */
  last: number;
  warnings: string[];
  isEnded: boolean;
  outcome: string | null;
  digest: string | null;
}

const MAX_WARNINGS = 100;

export function emptyStream(): StreamState {
  return { envelope: null, last: 0, warnings: [], isEnded: false, outcome: null, digest: null };
}

/** Creates the state of a server snapshot, which includes the events up to `seq`. */
export function streamFromSnapshot(envelope: unknown, seq: number, warnings: readonly string[] = []): StreamState {
  return { ...emptyStream(), envelope: isObject(envelope) ? envelope : null, last: seq, warnings: [...warnings].slice(-MAX_WARNINGS) };
}

/** Applies an event. Events up to `state.last` change nothing. */
export function fold(state: StreamState, event: unknown): StreamState {
  if (!isObject(event) || typeof event.seq !== 'number' || !Number.isFinite(event.seq)) {
    return warn(state, 'An event without a sequence number was passed over.');
  }
  const { seq } = event;
  if (seq <= state.last) return state;
  const kind = asText(event.kind, 'unknown');
  const time = asText(event.time);
  const next = { ...state, last: seq };
  if (state.isEnded) return warn(next, `Event ${seq} came after the end of the stream.`);
  try {
    return apply(next, seq, time, kind, event.body);
  } catch (error) {
    return warn(next, `Event ${seq} (${kind}) could not be applied: ${error instanceof Error ? error.message : 'unknown reason'}.`);
  }
}

function apply(state: StreamState, seq: number, time: string, kind: string, body: unknown): StreamState {
  switch (kind) {
    case 'envelope':
      return isObject(body) ? { ...state, envelope: body } : warn(state, `Event ${seq}: the envelope is not an object.`);
    case 'rows':
      return append(state, seq, body, 'rows', 'table');
    case 'events':
      return append(state, seq, body, 'events', 'timeline');
    case 'text':
      return appendText(state, seq, body);
    case 'patch': {
      if (state.envelope === null) return warn(state, `Event ${seq}: a patch came before the envelope.`);
      const patched = applyPatch(state.envelope, asObject(body).patch);
      if (!patched.isApplied) return warn(state, `Event ${seq}: ${patched.problem}.`);
      return isObject(patched.value) ? { ...state, envelope: patched.value } : warn(state, `Event ${seq}: the patch leaves no envelope.`);
    }
    case 'signal': {
      if (!isObject(body)) return warn(state, `Event ${seq}: the signal is not an object.`);
      const envelope = state.envelope ?? blankEnvelope(time);
      return { ...state, envelope: { ...envelope, signals_emitted: [...asList(envelope.signals_emitted), body] } };
    }
    case 'note':
      return asText(asObject(body).text) === '' ? warn(state, `Event ${seq}: the note has no text.`) : state;
    // The server sends the outcome in a separate event before the end event.
    case 'outcome':
      return { ...state, outcome: asText(asObject(body).outcome) || state.outcome };
    case 'end': {
      const end = asObject(body);
      return { ...state, isEnded: true, outcome: asText(end.outcome) || state.outcome || 'ended', digest: asText(end.digest) || null };
    }
    default:
      // A newer agent may send unknown kinds; they appear in the raw log only.
      return state;
  }
}

/** Creates the envelope that a stream shows before its first one. */
function blankEnvelope(time: string): UIEnvelope {
  return {
    response_type: 'live_execution',
    summary: '',
    artifacts: [],
    missions_spawned: [],
    signals_emitted: [],
    live_stream_id: null,
    ui_hints: null,
    timestamp: time,
    metadata: {},
  };
}

function append(state: StreamState, seq: number, body: unknown, member: 'rows' | 'events', type: string): StreamState {
  const source = asObject(body);
  const added = source[member];
  if (!Array.isArray(added)) return warn(state, `Event ${seq}: "${member}" is not a list.`);
  return changeArtifact(state, seq, source.artifact, (artifact) => {
    if (artifact.artifact_type !== type) return `artifact ${asText(source.artifact)} is no ${type}`;
    const content = asObject(artifact.content);
    const all = [...asList(content[member]), ...added];
    const counted: Record<string, unknown> = { ...content, [member]: all };
    // Updating the derived counts avoids a false warning about a mismatch.
    if (member === 'rows') counted.row_count = all.length;
    else {
      counted.event_count = all.length;
      counted.start_time = asObject(all[0]).timestamp ?? null;
      counted.end_time = asObject(all.at(-1)).timestamp ?? null;
    }
    return { ...artifact, content: counted };
  });
}

function appendText(state: StreamState, seq: number, body: unknown): StreamState {
  const source = asObject(body);
  const { text } = source;
  if (typeof text !== 'string') return warn(state, `Event ${seq}: "text" is not text.`);
  if (source.artifact === undefined || source.artifact === null) {
    const envelope = state.envelope ?? blankEnvelope('');
    return { ...state, envelope: { ...envelope, summary: asText(envelope.summary) + text } };
  }
  return changeArtifact(state, seq, source.artifact, (artifact) => {
    const content = asObject(artifact.content);
    if (artifact.artifact_type === 'code_block') {
      const code = asText(content.code) + text;
      return { ...artifact, content: { ...content, code, line_count: code.split('\n').length } };
    }
    if (artifact.artifact_type !== 'document') return `artifact ${asText(source.artifact)} holds no text`;
    const sections = [...asList(content.sections)];
    const place = source.section ?? Math.max(sections.length - 1, 0);
    if (!isPlace(place) || place > sections.length) return `section ${asText(place, '?')} does not exist`;
    const section = asObject(sections[place]);
    sections[place] = { ...section, heading: section.heading ?? '', content: asText(section.content) + text };
    return { ...artifact, content: { ...content, sections, section_count: sections.length } };
  });
}

function isPlace(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Replaces the artifact at `place` with the result of `change`; a text result is the reason for a failure. */
function changeArtifact(
  state: StreamState,
  seq: number,
  place: unknown,
  change: (artifact: Record<string, unknown>) => Record<string, unknown> | string,
): StreamState {
  if (state.envelope === null) return warn(state, `Event ${seq}: content came before the envelope.`);
  const artifacts = asList(state.envelope.artifacts);
  if (!isPlace(place) || place >= artifacts.length) return warn(state, `Event ${seq}: artifact ${asText(place, '?')} does not exist.`);
  const changed = change(asObject(artifacts[place]));
  if (typeof changed === 'string') return warn(state, `Event ${seq}: ${changed}.`);
  return { ...state, envelope: { ...state.envelope, artifacts: artifacts.with(place, changed) } };
}

function warn(state: StreamState, text: string): StreamState {
  return { ...state, warnings: [...state.warnings, text].slice(-MAX_WARNINGS) };
}
