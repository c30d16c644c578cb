import { describe, expect, test } from 'vitest';
import { csvField, readCsv, writeCsv, writeTsv } from './csv';

const SAFE = { isSpreadsheetSafe: true };
const PLAIN = { isSpreadsheetSafe: false };

describe('a field', () => {
  test.each([
    ['plain', 'plain', 'plain'],
    ['a,b', '"a,b"', '"a,b"'],
    ['say "hi"', '"say ""hi"""', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"', '"two\nlines"'],
    [' padded ', '" padded "', '" padded "'],
    [null, '', ''],
    [undefined, '', ''],
    [-5, '-5', '-5'],
    [1.5e300, '1.5e+300', '1.5e+300'],
    [true, 'true', 'true'],
    [{ a: 1 }, '"{""a"":1}"', '"{""a"":1}"'],
    // Cells that spreadsheets read as formulas.
    ['=1+1', "'=1+1", '=1+1'],
    ['=HYPERLINK("http://evil.test","x")', `"'=HYPERLINK(""http://evil.test"",""x"")"`, '"=HYPERLINK(""http://evil.test"",""x"")"'],
    ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"],
    ['+1+1', "'+1+1", '+1+1'],
    ['-2+3+cmd', "'-2+3+cmd", '-2+3+cmd'],
    ['-5', "'-5", '-5'],
    ['@SUM(A1)', "'@SUM(A1)", '@SUM(A1)'],
    ['\t=1', "'\t=1", '"\t=1"'],
    ['\r=1', `"'\r=1"`, '"\r=1"'],
    ['＝1+1', "'＝1+1", '＝1+1'],
    ['a=1', 'a=1', 'a=1'],
    ["'=1", "'=1", "'=1"],
  ])('%j', (value, safe, plain) => {
    expect(csvField(value, SAFE)).toBe(safe);
    expect(csvField(value, PLAIN)).toBe(plain);
  });
});

test('a table has a mark, CRLF and the width of its header', () => {
  expect(writeCsv(['a', '=b'], [[1, 'x'], [2], [3, 'y', 'lost']], SAFE)).toBe("\ufeffa,'=b\r\n1,x\r\n2,\r\n3,y\r\n");
});

test('the clipboard gets one line a row', () => {
  expect(writeTsv([['a', 1], ['=x', 'b\tc']])).toBe("a\t1\n'=x\tb c");
});

describe('reading', () => {
  test.each<[string, string[], string[][]]>([
    ['a,b\r\n1,2\r\n', ['a', 'b'], [['1', '2']]],
    ['\ufeffa;b\n1;2', ['a', 'b'], [['1', '2']]],
    ['a\tb\n1\t"x\ty"', ['a', 'b'], [['1', 'x\ty']]],
    ['a,b\n"1 ""q""","two\nlines"\n', ['a', 'b'], [['1 "q"', 'two\nlines']]],
    ['a,b\n1,', ['a', 'b'], [['1', '']]],
    ['a\n"never closed', ['a'], [['never closed']]],
    ['', [], []],
  ])('%j', (text, header, rows) => {
    expect(readCsv(text)).toEqual({ header, rows, isCut: false });
  });

  test('what was written is read back', () => {
    const rows = [['x,y', '"', '\r\n', ' s '], ['', '=', 'ü', '']];
    expect(readCsv(writeCsv(['1', '2', '3', '4'], rows, PLAIN)).rows).toEqual(rows);
  });

  test('a limit is kept', () => {
    const cut = readCsv('a\n1\n2\n3\n4\n', 2);
    expect(cut.rows).toEqual([['1'], ['2']]);
    expect(cut.isCut).toBe(true);
  });
});
