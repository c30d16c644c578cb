/** CSV export (RFC 4180 with a byte order mark) and a tolerant CSV parser. */

import { ExactNumber, writeJson } from './json';

// Spreadsheets treat these first characters as the start of a formula (OWASP "CSV Injection"). Some fold full-width
// forms to the same.
const FORMULA_START = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

export interface CsvOptions {
  /** Prefixes text that a spreadsheet would run as a formula with `'`. */
  isSpreadsheetSafe: boolean;
}

/** Formats one cell as CSV. Only text can be a formula, so numbers stay unchanged. */
export function csvField(value: unknown, options: CsvOptions): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof ExactNumber) return value.source;
  let text = typeof value === 'string' ? value : writeJson(value, 0);
  // Prefixing before quoting prevents the quote from hiding the formula.
  if (options.isSpreadsheetSafe && FORMULA_START.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats a table as CSV. Rows have the width of the header. */
export function writeCsv(header: readonly string[], rows: Iterable<readonly unknown[]>, options: CsvOptions): string {
  const lines = [header.map((name) => csvField(name, options)).join(',')];
  for (const row of rows) {
    const fields: string[] = [];
    for (let column = 0; column < Math.max(header.length, 1); column += 1) fields.push(csvField(row[column], options));
    lines.push(fields.join(','));
  }
  // The byte order mark identifies the file as UTF-8 to spreadsheets.
  return `\ufeff${lines.join('\r\n')}\r\n`;
}

/** Formats cells for the clipboard, separated by tabs and line breaks. */
export function writeTsv(rows: readonly (readonly unknown[])[]): string {
  return rows
    .map((row) => row.map((value) => csvField(value, { isSpreadsheetSafe: true }).replaceAll('\t', ' ')).join('\t'))
    .join('\n');
}

export interface CsvTable {
  header: string[];
  rows: string[][];
  /** True if more rows follow after `limit`. */
  isCut: boolean;
}

/** Parses CSV; a missing closing quote ends at the end of the text. */
export function readCsv(source: string, limit = 100_000): CsvTable {
  const text = source.startsWith('\ufeff') ? source.slice(1) : source;
  const separator = guessSeparator(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  let isCut = false;
  while (at < text.length) {
    let field: string;
    if (text[at] === '"') {
      field = '';
      at += 1;
      for (;;) {
        const quote = text.indexOf('"', at);
        if (quote === -1) {
          field += text.slice(at);
          at = text.length;
          break;
        }
        field += text.slice(at, quote);
        at = quote + 1;
        if (text[at] !== '"') break;
        field += '"';
        at += 1;
      }
      // Text between a closing quote and the separator is preserved.
      const end = endOfField(text, at, separator);
      field += text.slice(at, end);
      at = end;
    } else {
      const end = endOfField(text, at, separator);
      field = text.slice(at, end);
      at = end;
    }
    row.push(field);
    if (at >= text.length) break;
    if (text[at] === separator) {
      at += 1;
      if (at >= text.length) row.push('');
      continue;
    }
    at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1;
    rows.push(row);
    row = [];
    if (rows.length > limit) {
      isCut = at < text.length;
      break;
    }
  }
  if (row.length > 0) rows.push(row);
  const header = rows.shift() ?? [];
  return { header, rows, isCut };
}

function endOfField(text: string, from: number, separator: string): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === separator || character === '\n' || character === '\r') return at;
  }
  return text.length;
}

function guessSeparator(text: string): string {
  const firstLine = text.slice(0, 4_096).split(/\r?\n/, 1)[0] ?? '';
  let best = ',';
  let bestCount = 0;
  for (const candidate of [',', '\t', ';', '|']) {
    const count = firstLine.split(candidate).length - 1;
    if (count > bestCount) {
      best = candidate;
      bestCount = count;
    }
  }
  return best;
}
