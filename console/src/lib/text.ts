/** Prepares text from agents for display: truncated, counted, and with hidden characters labeled. */

/** The displayed length of a cell or string before "show more". */
export const DISPLAY_LIMIT = 2_000;

export interface HiddenCharacter {
  /** Offset in UTF-16 units. */
  at: number;
  code: number;
  /** Such as `U+202E`. */
  label: string;
  name: string;
  kind: 'bidi' | 'zero-width' | 'control';
}

const NAMES: Record<number, string> = {
  0x00: 'null',
  0x07: 'bell',
  0x08: 'backspace',
  0x0b: 'vertical tab',
  0x0c: 'form feed',
  0x1b: 'escape',
  0x7f: 'delete',
  0xad: 'soft hyphen',
  0x61c: 'arabic letter mark',
  0x180e: 'mongolian vowel separator',
  0x200b: 'zero width space',
  0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'pop directional formatting',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'pop directional isolate',
  0xfeff: 'zero width no-break space',
};

// One character class, written with escapes so that this file hides nothing itself. Tab, line feed and carriage
// return are ordinary text.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

// Emoji use zero-width joiners and tag characters legitimately. Warning about each family emoji would teach people to
// ignore the warning.
const EMOJI_JOINER = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u;

function describe(at: number, code: number): HiddenCharacter {
  const isBidi = code === 0x61c || code === 0x200e || code === 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const isControl = code < 0xa0 || code === 0x2028 || code === 0x2029;
  return {
    at,
    code,
    label: `U+${code.toString(16).toUpperCase().padStart(4, '0')}`,
    name: NAMES[code] ?? (code >= 0xe0000 ? 'tag character' : isControl ? 'control character' : 'invisible character'),
    kind: isBidi ? 'bidi' : isControl ? 'control' : 'zero-width',
  };
}

/** Finds up to `limit` characters that are invisible to a reader but not to a program. */
export function hiddenCharacters(text: string, limit = 1_000): HiddenCharacter[] {
  const found: HiddenCharacter[] = [];
  HIDDEN.lastIndex = 0;
  for (let match = HIDDEN.exec(text); match !== null; match = HIDDEN.exec(text)) {
    const code = match[0].codePointAt(0) ?? 0;
    if (code === 0x200d && EMOJI_JOINER.test(text.slice(Math.max(0, match.index - 6), match.index))) continue;
    found.push(describe(match.index, code));
    if (found.length >= limit) break;
  }
  return found;
}

/** Describes hidden characters, such as `2 bidirectional controls, 1 zero-width character`. */
export function describeHidden(found: readonly HiddenCharacter[]): string {
  const words = { bidi: 'bidirectional control', 'zero-width': 'zero-width character', control: 'control character' } as const;
  const parts: string[] = [];
  for (const kind of ['bidi', 'zero-width', 'control'] as const) {
    const count = found.filter((one) => one.kind === kind).length;
    if (count > 0) parts.push(`${count} ${words[kind]}${count === 1 ? '' : 's'}`);
  }
  return parts.join(', ');
}

export type TextPart = { text: string } | { hidden: HiddenCharacter };

/** Splits text so that hidden characters can be rendered as labels. */
export function revealParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const hidden of hiddenCharacters(text, 10_000)) {
    if (hidden.at > from) parts.push({ text: text.slice(from, hidden.at) });
    parts.push({ hidden });
    from = hidden.at + (hidden.code > 0xffff ? 2 : 1);
  }
  if (from < text.length) parts.push({ text: text.slice(from) });
  return parts;
}

/** Truncates `text` to `limit` units without splitting a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

const COUNT = new Intl.NumberFormat('en', { useGrouping: true });

/** Formats a number with separators, such as `50,000`. */
export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** Formats a count with its noun: `1 row`, `3 rows`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** Formats a size in bytes: `2.0 KB`. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes) || bytes < 0) return 'unknown size';
  if (bytes < 1_024) return counted(bytes, 'byte');
  const units = ['KB', 'MB', 'GB', 'TB', 'PB'];
  let size = bytes;
  let unit = -1;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** Makes a file name from `title` that is valid on every file system. */
export function fileName(title: string, extension: string): string {
  const stem = title
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 80)
    .toLowerCase();
  return `${stem === '' ? 'artifact' : stem}.${extension}`;
}

/** Formats an enum value in words: `mission_draft` → `mission draft`. */
export function humanizeName(word: string): string {
  return word.replace(/[_-]+/g, ' ').trim();
}

/** Escapes hidden characters as JSON does. */
export function escapeHidden(text: string): string {
  HIDDEN.lastIndex = 0;
  if (!HIDDEN.test(text)) return text;
  return revealParts(text)
    .map((part) => ('text' in part ? part.text : escaped(part.hidden.code)))
    .join('');
}

function escaped(code: number): string {
  const character = String.fromCodePoint(code);
  let text = '';
  for (let at = 0; at < character.length; at += 1) text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return text;
}

// Characters that reorder their neighbors or control a terminal. Direction marks and joiners are excluded because
// ordinary Arabic, Hebrew and Persian use them.
const DECEPTIVE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Truncates text for a label and escapes deceptive characters. */
export function displayText(text: string, limit: number): string {
  const short = cut(text, limit);
  DECEPTIVE.lastIndex = 0;
  return DECEPTIVE.test(short) ? short.replace(DECEPTIVE, (character) => escaped(character.charCodeAt(0))) : short;
}
