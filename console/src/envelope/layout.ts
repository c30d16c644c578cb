/** In which order and width an envelope's artifacts are shown. Hints advise; they never decide alone. */

import { asObject, type UIHints } from './types';

export interface Placed {
  /** Place in the envelope: links and file requests name it. */
  position: number;
  artifact: unknown;
  /** Takes both columns. */
  isWide: boolean;
}

export interface Layout {
  hasColumns: boolean;
  placed: Placed[];
}

// What a response type is about comes first; the rest keeps the agent's order.
const FIRST: Record<string, readonly string[]> = {
  table: ['table'],
  report: ['document'],
  forecast: ['chart', 'table'],
  live_execution: ['timeline'],
};

/** Kinds that read badly at half the width. */
const WIDE = new Set(['table', 'document', 'timeline', 'code_block', 'signal_batch']);

export function layOut(responseType: unknown, artifacts: readonly unknown[], hints: UIHints): Layout {
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
    // Two panes were asked for: everything shares the width, except what would stand alone.
    for (const one of placed) one.isWide = false;
    const last = placed.at(-1);
    if (placed.length % 2 === 1 && last !== undefined) last.isWide = true;
    return { hasColumns, placed };
  }
  // A narrow card without a neighbour takes the row.
  for (let at = 0; at < placed.length; at += 1) {
    const one = placed[at] as Placed;
    if (one.isWide) continue;
    const next = placed[at + 1];
    if (next !== undefined && !next.isWide) at += 1;
    else one.isWide = true;
  }
  return { hasColumns, placed };
}
