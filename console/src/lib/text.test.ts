import { expect, test } from 'vitest';
import { cut, describeHidden, fileName, formatBytes, hiddenCharacters, revealParts } from './text';

test.each([
  ['plain\ttext\r\n', ''],
  ['if (a\u202e) {', '1 bidirectional control'],
  ['\u2066x\u2069', '2 bidirectional controls'],
  ['pass\u200bword', '1 zero-width character'],
  ['\u001b[31mred\u0000', '2 control characters'],
  ['\u{e0041}\u{e0042}', '2 zero-width characters'],
  ['👩\u200d👩\u200d👧', ''],
  ['👍🏽\u200d', ''],
  ['a\u200db', '1 zero-width character'],
  ['Größe 日本 עברית', ''],
])('%j hides: %s', (text, words) => {
  expect(describeHidden(hiddenCharacters(text))).toBe(words);
});

test('revealing loses nothing', () => {
  const text = 'a\u202eb\u{e0041}c';
  const shown = revealParts(text).map((part) => ('text' in part ? part.text : part.hidden.label));
  expect(shown).toEqual(['a', 'U+202E', 'b', 'U+E0041', 'c']);
});

test('a cut never halves a pair', () => {
  expect(cut('ab😀', 3)).toBe('ab');
  expect(cut('ab😀', 4)).toBe('ab😀');
});

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [2_048, '2.0 KB'],
  [15_728_640, '15 MB'],
  [-1, 'unknown size'],
])('%d is %s', (bytes, words) => {
  expect(formatBytes(bytes)).toBe(words);
});

test.each([
  ['Top Quotes', 'top-quotes.csv'],
  ['../../etc/passwd', 'etc-passwd.csv'],
  ['\u202e', 'artifact.csv'],
  ['日本', '日本.csv'],
])('%j is saved as %s', (title, name) => {
  expect(fileName(title, 'csv')).toBe(name);
});
