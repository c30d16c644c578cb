/**
 * Parses Markdown to a small tree that components render.
 *
 * No HTML string ever exists: marked only produces tokens, and every token that is not on the list below becomes
 * plain text. Raw HTML is text, images are links, and links are http, https or mailto.
 */

import { Lexer, type Token, type Tokens } from 'marked';
import { writeJson } from './json';

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'deleted'; children: Inline[] }
  | { kind: 'break' }
  | { kind: 'link'; address: SafeAddress; children: Inline[] }
  | { kind: 'image'; address: SafeAddress; text: string }
  /** A link with an unsafe address, which is shown as text. */
  | { kind: 'refused'; address: string; children: Inline[] };

export interface ListItem {
  /** Null if the item is not a task. */
  isDone: boolean | null;
  children: Block[];
}

export type Block =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'heading'; level: number; children: Inline[]; text: string }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'quote'; children: Block[] }
  | { kind: 'list'; isOrdered: boolean; start: number; items: ListItem[] }
  | { kind: 'table'; columns: { label: string; align: string }[]; rows: string[][] }
  | { kind: 'rule' }
  /** Unsupported markup or too deep a structure, shown as source text. */
  | { kind: 'source'; text: string };

export interface SafeAddress {
  href: string;
  /** The destination in words, shown to the reader. */
  host: string;
}

/** Longer text is shown as source, because the lexer would block the page. */
export const MARKDOWN_LIMIT = 1_000_000;
const MAX_LEVELS = 24;

/** Returns the address if it is safe to offer as a link, or null. */
export function safeAddress(address: unknown): SafeAddress | null {
  if (typeof address !== 'string' || address.length > 8_000) return null;
  let parsed: URL;
  try {
    parsed = new URL(address.trim());
  } catch {
    // Relative addresses would point into this console, and an agent must not link there.
    return null;
  }
  if (parsed.protocol === 'mailto:') return { href: parsed.href, host: decodeURIText(parsed.pathname) };
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return null;
  // A user name before the host deceives readers, as in `https://bank.test@evil.test`.
  if (parsed.username !== '' || parsed.password !== '') return null;
  return { href: parsed.href, host: parsed.host };
}

function decodeURIText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses Markdown to blocks. Never throws. */
export function parseMarkdown(source: string): Block[] {
  if (source.length > MARKDOWN_LIMIT) return [{ kind: 'source', text: source }];
  try {
    return blocks(new Lexer({ gfm: true, breaks: false }).lex(source), 0);
  } catch {
    // Deep nesting can exhaust the lexer's stack.
    return [{ kind: 'source', text: source }];
  }
}

function blocks(tokens: readonly Token[], level: number): Block[] {
  const found: Block[] = [];
  for (const token of tokens) {
    if (level > MAX_LEVELS) {
      found.push({ kind: 'source', text: token.raw });
      continue;
    }
    switch (token.type) {
      case 'space':
      case 'def':
        break;
      case 'heading': {
        const heading = token as Tokens.Heading;
        const children = inlines(heading.tokens, level + 1);
        found.push({ kind: 'heading', level: heading.depth, children, text: plainText(children) });
        break;
      }
      case 'paragraph':
        found.push({ kind: 'paragraph', children: inlines((token as Tokens.Paragraph).tokens, level + 1) });
        break;
      case 'text': {
        const text = token as Tokens.Text;
        found.push({ kind: 'paragraph', children: text.tokens === undefined ? [{ kind: 'text', text: unescapeText(text.text) }] : inlines(text.tokens, level + 1) });
        break;
      }
      case 'code': {
        const code = token as Tokens.Code;
        found.push({ kind: 'code', text: code.text, language: (code.lang ?? '').trim().split(/\s/, 1)[0] ?? '' });
        break;
      }
      case 'blockquote':
        found.push({ kind: 'quote', children: blocks((token as Tokens.Blockquote).tokens, level + 1) });
        break;
      case 'list': {
        const list = token as Tokens.List;
        found.push({
          kind: 'list',
          isOrdered: list.ordered,
          start: typeof list.start === 'number' ? list.start : 1,
          items: list.items.map((item) => ({
            isDone: item.task ? item.checked === true : null,
            // marked 18 emits a token for the checkbox too; the task state above already has it.
            children: blocks(item.tokens.filter((one) => one.type !== 'checkbox'), level + 1),
          })),
        });
        break;
      }
      case 'table': {
        const table = token as Tokens.Table;
        found.push({
          kind: 'table',
          columns: table.header.map((cell, at) => ({ label: plainText(inlines(cell.tokens, level + 1)), align: table.align[at] ?? 'left' })),
          rows: table.rows.map((row) => row.map((cell) => plainText(inlines(cell.tokens, level + 1)))),
        });
        break;
      }
      case 'hr':
        found.push({ kind: 'rule' });
        break;
      default:
        if (token.raw.trim() !== '') found.push({ kind: 'source', text: token.raw });
    }
  }
  return found;
}

function inlines(tokens: readonly Token[] | undefined, level: number): Inline[] {
  const found: Inline[] = [];
  for (const token of tokens ?? []) {
    if (level > MAX_LEVELS) {
      found.push({ kind: 'text', text: token.raw });
      continue;
    }
    switch (token.type) {
      case 'strong':
        found.push({ kind: 'strong', children: inlines((token as Tokens.Strong).tokens, level + 1) });
        break;
      case 'em':
        found.push({ kind: 'emphasis', children: inlines((token as Tokens.Em).tokens, level + 1) });
        break;
      case 'del':
        found.push({ kind: 'deleted', children: inlines((token as Tokens.Del).tokens, level + 1) });
        break;
      case 'codespan':
        found.push({ kind: 'code', text: (token as Tokens.Codespan).text });
        break;
      case 'br':
        found.push({ kind: 'break' });
        break;
      case 'link': {
        const link = token as Tokens.Link;
        const address = safeAddress(link.href);
        const children = inlines(link.tokens, level + 1);
        found.push(address === null ? { kind: 'refused', address: link.href, children } : { kind: 'link', address, children });
        break;
      }
      case 'image': {
        const image = token as Tokens.Image;
        const address = safeAddress(image.href);
        const text = image.text === '' ? 'image' : image.text;
        found.push(address === null ? { kind: 'refused', address: image.href, children: [{ kind: 'text', text }] } : { kind: 'image', address, text });
        break;
      }
      case 'escape':
        found.push({ kind: 'text', text: (token as Tokens.Escape).text });
        break;
      case 'text': {
        const text = token as Tokens.Text;
        if (text.tokens !== undefined) found.push(...inlines(text.tokens, level + 1));
        else found.push({ kind: 'text', text: unescapeText(text.text) });
        break;
      }
      case 'checkbox':
        break;
      default:
        // Other tokens, such as raw HTML, are shown as source.
        found.push({ kind: 'text', text: token.raw });
    }
  }
  return found;
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&nbsp;': '\u00a0' };

/** Decodes five common entities. The result is rendered as text, so it cannot become markup. */
function unescapeText(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity);
}

/** Extracts the text of inline content for outlines and tables. */
export function plainText(children: readonly Inline[]): string {
  let text = '';
  for (const child of children) {
    switch (child.kind) {
      case 'text':
      case 'code':
        text += child.text;
        break;
      case 'break':
        text += ' ';
        break;
      case 'image':
        text += child.text;
        break;
      default:
        text += plainText(child.children);
    }
  }
  return text;
}

export interface Section {
  heading: string;
  content: string;
}

export interface DocumentSource {
  isMarkdown: boolean;
  sections: Section[];
  warnings: string[];
}

/** Reads the sections of a document artifact in any supported shape. */
export function readDocument(content: unknown): DocumentSource {
  const warnings: string[] = [];
  if (typeof content === 'string') return { isMarkdown: true, sections: [{ heading: '', content }], warnings };
  const source = (typeof content === 'object' && content !== null ? content : {}) as Record<string, unknown>;
  const format = typeof source.format === 'string' ? source.format.toLowerCase() : 'markdown';
  const isMarkdown = format === 'markdown' || format === 'md' || format === 'gfm';
  let list: unknown = source.sections;
  if (!Array.isArray(list)) {
    if (list !== undefined) warnings.push('"sections" is not a list.');
    const whole = source.content ?? source.text ?? source.markdown;
    list = typeof whole === 'string' ? [{ heading: '', content: whole }] : [];
  }
  const sections = (list as unknown[]).map((one): Section => {
    if (typeof one === 'string') return { heading: '', content: one };
    const section = (typeof one === 'object' && one !== null ? one : {}) as Record<string, unknown>;
    const heading = section.heading ?? section.title;
    const text = section.content ?? section.text ?? section.body;
    return {
      heading: typeof heading === 'string' ? heading : '',
      content: typeof text === 'string' ? text : text === undefined || text === null ? '' : writeJson(text),
    };
  });
  if (typeof source.section_count === 'number' && source.section_count !== sections.length) {
    warnings.push(`"section_count" says ${source.section_count}, there are ${sections.length}.`);
  }
  return { isMarkdown, sections, warnings };
}

/** Joins the document to one Markdown text for downloads and the clipboard. */
export function documentText(title: string, document: DocumentSource): string {
  const parts = document.sections.map((section) => (section.heading === '' ? section.content : `## ${section.heading}\n\n${section.content}`));
  return `${title === '' ? '' : `# ${title}\n\n`}${parts.join('\n\n')}\n`;
}
