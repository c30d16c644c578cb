/** The properties of each artifact type: icon, size and data as a table. */

import { asList, asObject, asText, type Artifact } from '../envelope/types';
import { chartTable, readChart } from '../lib/chart';
import { JsonNode, writeJson } from '../lib/json';
import { documentText, readDocument } from '../lib/markdown';
import { counted, formatBytes, formatCount, displayText } from '../lib/text';
import { readTimeline } from '../lib/timeline';
import type { IconName } from '../components/icons';
import { batchSignals, readSignals } from './signals';
import { readTable } from '../lib/table';
import { writeCsv } from '../lib/csv';
import { codeExtension } from '../lib/code';

export type ArtifactKind = 'table' | 'chart' | 'document' | 'code_block' | 'timeline' | 'file_reference' | 'json_data' | 'mission_draft' | 'signal_batch';

const ICON: Record<ArtifactKind, IconName> = {
  table: 'table',
  chart: 'chart',
  document: 'document',
  code_block: 'code',
  timeline: 'timeline',
  file_reference: 'file',
  json_data: 'json',
  mission_draft: 'mission',
  signal_batch: 'signal',
};

/** Returns the artifact's type if it is one of the nine in the contract. */
export function kindOf(artifact: Artifact): ArtifactKind | null {
  const type = artifact.artifact_type;
  return typeof type === 'string' && Object.hasOwn(ICON, type) ? (type as ArtifactKind) : null;
}

export function iconOf(kind: ArtifactKind | null): IconName {
  return kind === null ? 'help' : ICON[kind];
}

/** Formats the size, such as `3 × 3` or `412 events`; empty if nothing can be counted. */
export function sizeOf(kind: ArtifactKind | null, content: unknown): string {
  const source = asObject(content);
  switch (kind) {
    case 'table': {
      const columns = asList(source.columns).length;
      return `${formatCount(asList(source.rows).length)} × ${formatCount(columns)}`;
    }
    case 'chart': {
      const chart = readChart(content);
      if (chart === null) return '';
      const points = chart.series.reduce((most, series) => Math.max(most, series.points.length), 0);
      return `${counted(chart.series.length, 'series', 'series')} × ${counted(points, 'point')}`;
    }
    case 'document':
      return counted(readDocument(content).sections.length, 'section');
    case 'code_block': {
      const code = asText(source.code);
      let lines = 1;
      for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) lines += 1;
      return counted(lines, 'line');
    }
    case 'timeline':
      return counted(asList(Array.isArray(content) ? content : source.events).length, 'event');
    case 'file_reference':
      return typeof source.size_bytes === 'number' ? formatBytes(source.size_bytes) : '';
    case 'signal_batch':
      return counted(batchSignals(content).length, 'signal');
    case 'mission_draft':
      return asText(source.status);
    default: {
      const root = new JsonNode(null, null, content);
      return root.kind === 'list' ? counted(root.size, 'item') : root.kind === 'object' ? counted(root.size, 'member') : '';
    }
  }
}

export interface PlainTable {
  columns: unknown[];
  rows: unknown[][];
}

const MAX_LEAVES = 50_000;

/** Converts the artifact's data to rows and columns for the Data tab. */
export function dataOf(kind: ArtifactKind | null, content: unknown): PlainTable {
  const source = asObject(content);
  switch (kind) {
    case 'table': {
      const table = readTable(content);
      return { columns: ['Column', 'Key', 'Type', 'Filled', 'Empty'], rows: table.columns.map((column, at) => [column.label, column.key, column.type, ...fill(table.rows, at)]) };
    }
    case 'chart': {
      const chart = readChart(content);
      return chart === null ? leavesOf(content) : chartTable(chart);
    }
    case 'document':
      return { columns: ['Section', 'Heading', 'Characters', 'Content'], rows: readDocument(content).sections.map((section, at) => [at + 1, section.heading, section.content.length, section.content]) };
    case 'code_block':
      return { columns: ['Line', 'Text'], rows: asText(source.code).split('\n').slice(0, 200_000).map((line, at) => [at + 1, line]) };
    case 'timeline':
      return {
        columns: ['Start', 'End', 'Event', 'Status', 'Lane'],
        rows: readTimeline(content).events.map((event) => [iso(event.start), event.end === event.start ? null : iso(event.end), event.label, event.status, event.lane]),
      };
    case 'signal_batch':
      return {
        columns: ['Time', 'Layer', 'Type', 'Source', 'Summary'],
        rows: readSignals(batchSignals(content)).map((signal) => [iso(signal.time), signal.layer, signal.type, signal.source, signal.summary]),
      };
    default:
      return leavesOf(content);
  }
}

function fill(rows: readonly (readonly unknown[])[], column: number): [number, number] {
  let filled = 0;
  for (const row of rows) if (row[column] !== null && row[column] !== undefined && row[column] !== '') filled += 1;
  return [filled, rows.length - filled];
}

function iso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Lists every leaf of a JSON value with its pointer. */
function leavesOf(content: unknown): PlainTable {
  const rows: unknown[][] = [];
  const pending: JsonNode[] = [new JsonNode(null, null, content)];
  while (pending.length > 0 && rows.length < MAX_LEAVES) {
    const node = pending.pop() as JsonNode;
    if (!node.isBranch) rows.push([node.pointer === '' ? '(root)' : node.pointer, node.kind, typeof node.value === 'string' ? node.value : node.label()]);
    else for (let at = node.children.length - 1; at >= 0; at -= 1) pending.push(node.children[at] as JsonNode);
  }
  return { columns: ['Path', 'Type', 'Value'], rows };
}

/** Exports the artifact as a file in its natural format. */
export function fileOf(kind: ArtifactKind | null, title: string, content: unknown, isSpreadsheetSafe: boolean): { extension: string; media: string; text: string } {
  const source = asObject(content);
  switch (kind) {
    case 'table': {
      const table = readTable(content);
      return { extension: 'csv', media: 'text/csv', text: writeCsv(table.columns.map((column) => column.label), table.rows, { isSpreadsheetSafe }) };
    }
    case 'chart': {
      const chart = readChart(content);
      if (chart === null) return { extension: 'json', media: 'application/json', text: writeJson(content) };
      const table = chartTable(chart);
      return { extension: 'csv', media: 'text/csv', text: writeCsv(table.columns, table.rows, { isSpreadsheetSafe }) };
    }
    case 'document':
      return { extension: 'md', media: 'text/markdown', text: documentText(title, readDocument(content)) };
    case 'code_block':
      return { extension: codeExtension(asText(source.language)), media: 'text/plain', text: asText(source.code) };
    default:
      return { extension: 'json', media: 'application/json', text: writeJson(content) };
  }
}

/** Returns the title, or a placeholder with the artifact's type. */
export function artifactTitle(artifact: Artifact): string {
  const title = asText(artifact.title).trim();
  return title === '' ? `Untitled ${asText(artifact.artifact_type, 'artifact').replaceAll('_', ' ')}` : displayText(title, 300);
}
