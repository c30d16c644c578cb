/** The failure rates of tools, in numbers and words. */

import type { ToolRow } from '../api/types';

export interface Rate {
  /** From 0 to 1. */
  share: number;
  percent: string;
  word: 'no calls' | 'never fails' | 'rarely fails' | 'often fails' | 'mostly fails';
  tone: 'neutral' | 'good' | 'warn' | 'bad';
}

export function failureRate(tool: ToolRow): Rate {
  if (tool.calls === 0) return { share: 0, percent: '–', word: 'no calls', tone: 'neutral' };
  const share = tool.failed / tool.calls;
  const percent = share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`;
  if (share === 0) return { share, percent, word: 'never fails', tone: 'good' };
  if (share < 0.1) return { share, percent, word: 'rarely fails', tone: 'neutral' };
  return share < 0.5 ? { share, percent, word: 'often fails', tone: 'warn' } : { share, percent, word: 'mostly fails', tone: 'bad' };
}

export interface HotSpot {
  server: string;
  tool: string;
  code: string;
  /** Empty if the server does not report paths. */
  path: string;
  count: number;
}

/** Lists the argument paths with the most failures over all tools. */
export function hotSpots(tools: ToolRow[], most: number): HotSpot[] {
  return tools
    .flatMap((tool) => tool.failures.map((failure) => ({ server: tool.server, tool: tool.name, code: failure.code, path: failure.path ?? '', count: failure.count })))
    .sort((one, other) => other.count - one.count)
    .slice(0, most);
}
