/**
 * The UI envelope as agents really send it.
 *
 * Every member is `unknown` or optional, because the console also displays replies that failed the server's check.
 * The readers below never throw.
 */

import { ExactNumber } from '../lib/json';

export interface UIEnvelope {
  response_type?: unknown;
  summary?: unknown;
  artifacts?: unknown;
  missions_spawned?: unknown;
  signals_emitted?: unknown;
  live_stream_id?: unknown;
  ui_hints?: unknown;
  timestamp?: unknown;
  metadata?: unknown;
  [extra: string]: unknown;
}

export interface Artifact {
  artifact_type?: unknown;
  title?: unknown;
  content?: unknown;
  metadata?: unknown;
  [extra: string]: unknown;
}

export interface MissionReference {
  mission_id?: unknown;
  status?: unknown;
  objective_type?: unknown;
  objective_description?: unknown;
  [extra: string]: unknown;
}

export interface SignalReference {
  signal_type?: unknown;
  signal_layer?: unknown;
  signal_source?: unknown;
  timestamp?: unknown;
  summary?: unknown;
  [extra: string]: unknown;
}

export interface UIHints {
  layout: 'fullscreen' | 'split' | 'inline' | 'modal' | null;
  priority: 'urgent' | 'normal' | 'low' | null;
  suggestedActions: string[];
  colorScheme: 'success' | 'warning' | 'error' | 'info' | null;
  icon: string | null;
  expandable: boolean;
}

/** Identifies an artifact's reply for links and file requests. */
export interface ReplyPlace {
  id: string;
  index: number;
}

export type JsonObject = Record<string, unknown>;

/** The nine keys of the contract; other members of an envelope are extra. */
export const ENVELOPE_KEYS: readonly string[] = [
  'response_type',
  'summary',
  'artifacts',
  'missions_spawned',
  'signals_emitted',
  'live_stream_id',
  'ui_hints',
  'timestamp',
  'metadata',
];

export const ARTIFACT_KEYS: readonly string[] = ['artifact_type', 'title', 'content', 'metadata'];

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Returns the value as an object, or an empty one. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value as a list, or an empty one. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Converts text, a number or a boolean to text; otherwise returns the fallback. */
export function asText(value: unknown, fallback = ''): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value instanceof ExactNumber ? value.source : fallback;
}

/** Returns the first of the members that is non-empty text. */
export function firstText(source: JsonObject, ...keys: string[]): string {
  for (const key of keys) {
    const text = asText(source[key]);
    if (text !== '') return text;
  }
  return '';
}

function oneOf<Word extends string>(value: unknown, words: readonly Word[]): Word | null {
  return words.find((word) => word === value) ?? null;
}

/** Parses layout hints; values outside of the contract count as absent. */
export function readHints(value: unknown): UIHints {
  const hints = asObject(value);
  return {
    layout: oneOf(hints.layout, ['fullscreen', 'split', 'inline', 'modal'] as const),
    priority: oneOf(hints.priority, ['urgent', 'normal', 'low'] as const),
    suggestedActions: asList(hints.suggested_actions)
      .map((action) => asText(action))
      .filter((action) => action !== '')
      .slice(0, 20),
    colorScheme: oneOf(hints.color_scheme, ['success', 'warning', 'error', 'info'] as const),
    icon: typeof hints.icon === 'string' ? hints.icon : null,
    expandable: hints.expandable === true,
  };
}

/** Lists the members of `source` that `known` does not name. */
export function extraMembers(source: unknown, known: readonly string[]): JsonObject {
  const extra: JsonObject = {};
  if (!isObject(source)) return extra;
  for (const [key, value] of Object.entries(source)) {
    // defineProperty, because a member may be called `__proto__`.
    if (!known.includes(key)) Object.defineProperty(extra, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return extra;
}
