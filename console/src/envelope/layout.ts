/** The order and width of an envelope's artifacts. Layout hints influence them but do not decide alone. */

import { asObject, type UIHints } from './types';

export interface PositionedArtifact {
  /** Position in the envelope, used by links and file requests. */
  position: number;
  artifact: unknown;
  /** Spans both columns. */
  isWide: boolean;
}

export interface Layout {
  hasColumns: boolean;
  placed: PositionedArtifact[];
}

// Artifacts of the response type's main kind come first; the rest keep the agent's order.
const FIRST: Record<string, readonly string[]> = {
  table: ['table'],
  report: ['document'],
  forecast: ['chart', 'table'],
  live_execution: ['timeline'],
};

/** Types that are hard to read at half the width. */
const WIDE = new Set(['table', 'document', 'timeline', 'code_block', 'signal_batch']);

export function layOutArtifacts(responseType: unknown, artifacts: readonly unknown[], hints: UIHints): Layout {
  const first = FIRST[typeof responseType === 'string' ? responseType : ''] ?? [];
  const typeOf = (artifact: unknown): string => {
    const type = asObject(artifact).artifact_type;
    return typeof type === 'string' ? type : '';
  };
  const rank = (artifact: unknown): number => {
    const at = first.indexOf(typeOf(artifact));
    return at < 0 ? first.length : at;
  };
  const placed = artifacts
    .map((artifact, position) => ({ artifact, position, isWide: WIDE.has(typeOf(artifact)) }))
    .sort((left, right) => rank(left.artifact) - rank(right.artifact) || left.position - right.position);
  const isSplit = hints.layout === 'split' || responseType === 'forecast';
  const hasColumns = placed.length > 1 && (isSplit || (responseType === 'artifact_bundle' && hints.layout !== 'inline' && placed.length > 2));
  if (isSplit) {
    // With two panes all artifacts share the width, except those that need the full row.
    for (const one of placed) one.isWide = false;
    const last = placed.at(-1);
    if (placed.length % 2 === 1 && last !== undefined) last.isWide = true;
    return { hasColumns, placed };
  }
  // A narrow card without a neighbor takes the full row.
  for (let at = 0; at < placed.length; at += 1) {
    const one = placed[at] as PositionedArtifact;
    if (one.isWide) continue;
    const next = placed[at + 1];
    if (next !== undefined && !next.isWide) at += 1;
    else one.isWide = true;
  }
  return { hasColumns, placed };
}
