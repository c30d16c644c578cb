/** Splits source code into highlighted lines. Language grammars load on first use. */

import type { LanguageFn } from 'highlight.js';

export interface CodePiece {
  text: string;
  /** The token class, such as `keyword`; empty for plain text. */
  kind: string;
}

export type CodeLine = CodePiece[];

/** Longer code stays plain because highlighting is too slow. */
export const PLAIN_FROM = 500_000;

interface Language {
  /** The display name. */
  label: string;
  extension: string;
  load: () => Promise<{ default: LanguageFn }>;
}

const LANGUAGES: Record<string, Language> = {
  bash: { label: 'Shell', extension: 'sh', load: () => import('highlight.js/lib/languages/bash') },
  c: { label: 'C', extension: 'c', load: () => import('highlight.js/lib/languages/c') },
  cpp: { label: 'C++', extension: 'cpp', load: () => import('highlight.js/lib/languages/cpp') },
  csharp: { label: 'C#', extension: 'cs', load: () => import('highlight.js/lib/languages/csharp') },
  css: { label: 'CSS', extension: 'css', load: () => import('highlight.js/lib/languages/css') },
  diff: { label: 'Diff', extension: 'diff', load: () => import('highlight.js/lib/languages/diff') },
  go: { label: 'Go', extension: 'go', load: () => import('highlight.js/lib/languages/go') },
  java: { label: 'Java', extension: 'java', load: () => import('highlight.js/lib/languages/java') },
  javascript: { label: 'JavaScript', extension: 'js', load: () => import('highlight.js/lib/languages/javascript') },
  json: { label: 'JSON', extension: 'json', load: () => import('highlight.js/lib/languages/json') },
  kotlin: { label: 'Kotlin', extension: 'kt', load: () => import('highlight.js/lib/languages/kotlin') },
  markdown: { label: 'Markdown', extension: 'md', load: () => import('highlight.js/lib/languages/markdown') },
  php: { label: 'PHP', extension: 'php', load: () => import('highlight.js/lib/languages/php') },
  python: { label: 'Python', extension: 'py', load: () => import('highlight.js/lib/languages/python') },
  ruby: { label: 'Ruby', extension: 'rb', load: () => import('highlight.js/lib/languages/ruby') },
  rust: { label: 'Rust', extension: 'rs', load: () => import('highlight.js/lib/languages/rust') },
  sql: { label: 'SQL', extension: 'sql', load: () => import('highlight.js/lib/languages/sql') },
  swift: { label: 'Swift', extension: 'swift', load: () => import('highlight.js/lib/languages/swift') },
  toml: { label: 'TOML', extension: 'toml', load: () => import('highlight.js/lib/languages/ini') },
  typescript: { label: 'TypeScript', extension: 'ts', load: () => import('highlight.js/lib/languages/typescript') },
  xml: { label: 'HTML or XML', extension: 'xml', load: () => import('highlight.js/lib/languages/xml') },
  yaml: { label: 'YAML', extension: 'yml', load: () => import('highlight.js/lib/languages/yaml') },
};

const OTHER_NAMES: Record<string, string> = {
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  console: 'bash',
  'c++': 'cpp',
  cc: 'cpp',
  'c#': 'csharp',
  cs: 'csharp',
  golang: 'go',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  jsonc: 'json',
  json5: 'json',
  kt: 'kotlin',
  md: 'markdown',
  py: 'python',
  python3: 'python',
  rb: 'ruby',
  rs: 'rust',
  patch: 'diff',
  ini: 'toml',
  ts: 'typescript',
  tsx: 'typescript',
  html: 'xml',
  svg: 'xml',
  xhtml: 'xml',
  yml: 'yaml',
};

/** Returns the canonical name of a language, or null without a grammar for it. */
export function languageName(given: string): string | null {
  const name = given.trim().toLowerCase();
  const known = OTHER_NAMES[name] ?? name;
  return Object.hasOwn(LANGUAGES, known) ? known : null;
}

/** Returns the display name of a language, or an unknown name unchanged. */
export function languageLabel(given: string): string {
  const name = languageName(given);
  return name === null ? given.trim() || 'Plain text' : (LANGUAGES[name] as Language).label;
}

/** Returns the file extension for a download. */
export function codeExtension(given: string): string {
  const name = languageName(given);
  if (name === 'xml' && /html/i.test(given)) return 'html';
  return name === null ? 'txt' : (LANGUAGES[name] as Language).extension;
}

/** The subset of lowlight's tree (hast) that is used here. */
interface TreeNode {
  type: string;
  value?: string;
  children?: TreeNode[];
  properties?: { className?: unknown };
}

/** Splits text into plain lines. */
export function plainLines(code: string): CodeLine[] {
  return code.split(/\r\n|\r|\n/).map((text) => (text === '' ? [] : [{ text, kind: '' }]));
}

/** Splits a highlighted tree into lines, including tokens that span lines. */
export function linesOf(tree: TreeNode): CodeLine[] {
  const lines: CodeLine[] = [[]];
  const pending: { node: TreeNode; kind: string }[] = [{ node: tree, kind: '' }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, kind } = next;
    if (node.type === 'text') {
      const parts = (node.value ?? '').split(/\r\n|\r|\n/);
      for (const [at, text] of parts.entries()) {
        if (at > 0) lines.push([]);
        if (text !== '') (lines[lines.length - 1] as CodeLine).push({ text, kind });
      }
      continue;
    }
    const names = Array.isArray(node.properties?.className) ? node.properties.className : [];
    const own = names.map(String).find((name) => name.startsWith('hljs-'));
    const children = node.children ?? [];
    for (let at = children.length - 1; at >= 0; at -= 1) {
      pending.push({ node: children[at] as TreeNode, kind: own === undefined ? kind : own.slice(5).replace(/_+$/, '') });
    }
  }
  return lines;
}

type Lowlight = ReturnType<(typeof import('./code-engine'))['createLowlight']>;
let lowlight: Promise<Lowlight> | null = null;

/** Highlights code. Falls back to plain lines for an unknown language, long code or a failing grammar. */
export async function highlight(code: string, language: string): Promise<CodeLine[]> {
  const name = languageName(language);
  if (name === null || code.length > PLAIN_FROM) return plainLines(code);
  try {
    lowlight ??= import('./code-engine').then((module) => module.createLowlight());
    const [engine, grammar] = await Promise.all([lowlight, (LANGUAGES[name] as Language).load()]);
    if (!engine.registered(name)) engine.register(name, grammar.default);
    return linesOf(engine.highlight(name, code) as TreeNode);
  } catch {
    return plainLines(code);
  }
}

/** Classifies a line of a diff. */
export function diffMark(text: string): 'added' | 'removed' | 'place' | '' {
  if (text.startsWith('+') && !text.startsWith('+++')) return 'added';
  if (text.startsWith('-') && !text.startsWith('---')) return 'removed';
  return text.startsWith('@@') ? 'place' : '';
}
