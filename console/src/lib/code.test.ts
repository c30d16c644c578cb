import { expect, test } from 'vitest';
import { codeExtension, diffMark, highlight, languageLabel, languageName, plainLines, PLAIN_FROM } from './code';
import { describeHidden, hiddenCharacters } from './text';

const textOf = (lines: { text: string }[][]): string => lines.map((line) => line.map((piece) => piece.text).join('')).join('\n');

test.each([
  ['python', 'def hello():\n    """two\n    lines"""\n    return 1\n'],
  ['rust', 'fn main() { println!("{}", 1); }'],
  ['ts', 'const a: number = `x${1}\ny`;'],
  ['html', '<script>alert(1)</script>\n<img src=x onerror=alert(1)>'],
  ['diff', '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new'],
  ['json', '{"a": [1, null]}'],
  ['nonsense', 'a\nb'],
  ['__proto__', 'a'],
  ['', ''],
])('%s keeps every character', async (language, code) => {
  const lines = await highlight(code, language);
  expect(textOf(lines)).toBe(code);
  expect(lines).toHaveLength(code.split('\n').length);
});

test('known languages are colored, long text is not', async () => {
  const kinds = (await highlight('def f(): pass', 'python')).flat().map((piece) => piece.kind);
  expect(kinds).toContain('keyword');
  const long = 'x = 1\n'.repeat(PLAIN_FROM / 5);
  expect((await highlight(long, 'python')).flat().every((piece) => piece.kind === '')).toBe(true);
});

test.each([
  ['Python', 'python', 'Python', 'py'],
  ['ts', 'typescript', 'TypeScript', 'ts'],
  ['html', 'xml', 'HTML or XML', 'html'],
  ['patch', 'diff', 'Diff', 'diff'],
  ['cobol', null, 'cobol', 'txt'],
  ['', null, 'Plain text', 'txt'],
  ['constructor', null, 'constructor', 'txt'],
])('%j', (given, name, label, extension) => {
  expect([languageName(given), languageLabel(given), codeExtension(given)]).toEqual([name, label, extension]);
});

test.each([
  ['+a', 'added'],
  ['-a', 'removed'],
  ['+++ b', ''],
  ['--- a', ''],
  ['@@ -1 @@', 'place'],
  [' a', ''],
])('%j is %s', (line, mark) => {
  expect(diffMark(line)).toBe(mark);
});

test('the trojan source corpus is noticed', () => {
  const corpus: [string, string][] = [
    ['/*\u202e } \u2066if (isAdmin)\u2069 \u2066 begin admins only */', '4 bidirectional controls'],
    ['const role\u200b = 1', '1 zero-width character'],
    ['print("\u001b[2Jgone")', '1 control character'],
    ['plain()', ''],
  ];
  for (const [code, words] of corpus) expect(describeHidden(hiddenCharacters(code))).toBe(words);
});

test('line ends of all kinds are lines', () => {
  expect(plainLines('a\r\nb\rc\n')).toHaveLength(4);
});
