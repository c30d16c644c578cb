import { describe, expect, test } from 'vitest';
import { ExactNumber, JsonNode, openToSize, parseJson, parseJsonInSlices, revealNode, searchNodes, setAllOpen, visibleNodes, writeJson } from './json';

describe('parsing', () => {
  test.each([
    '{}',
    '[]',
    '"a\\n\\u0041\\\\"',
    '{"a":[1,2,{"b":null}],"c":"\\""}',
    ' [ true , false , null , -0.5e-3 ] ',
    '{"__proto__":{"polluted":true}}',
    '"\\\\"',
    '["","\\"",{"":""}]',
  ])('%s is what JSON.parse says', (text) => {
    const value = parseJson(text);
    expect(writeJson(value, 0)).toBe(JSON.stringify(JSON.parse(text)));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test.each(['', '{', '[1,]', '{"a"}', '{"a":1,}', '"open', '01', '[1 2]', 'nul', '{"a":1}x', '"\u0001"', "{'a':1}"])('%j is refused', (text) => {
    expect(() => parseJson(text)).toThrow(/expected/);
  });

  test.each([
    ['9007199254740991', false],
    ['9007199254740993', true],
    ['-12345678901234567890', true],
    ['1e400', true],
    ['1.5', false],
    ['9007199254740993.0', false],
  ])('%s is exact: %s', (source, isExact) => {
    const value = parseJson(`{"n":${source}}`) as { n: unknown };
    expect(value.n instanceof ExactNumber).toBe(isExact);
    if (isExact) expect(writeJson(value, 0)).toBe(`{"n":${source}}`);
  });

  test('slices give the same value', () => {
    const text = JSON.stringify(Array.from({ length: 500 }, (_, at) => ({ at })));
    const parsing = parseJsonInSlices(text, 100);
    let slices = 0;
    let step = parsing.next();
    while (step.done !== true) {
      slices += 1;
      step = parsing.next();
    }
    expect(slices).toBeGreaterThan(5);
    expect(JSON.stringify(step.value)).toBe(text);
  });
});

describe('the tree', () => {
  test('big integers are flagged', () => {
    const root = new JsonNode(null, null, parseJson('{"a":9007199254740993,"b":1}'));
    expect(root.children.map((node) => [node.label(), node.remark !== ''])).toEqual([['9007199254740993', true], ['1', false]]);
    expect(new JsonNode(null, null, 2 ** 60).remark).toMatch(/rounded/);
  });

  test('pointers are escaped', () => {
    const root = new JsonNode(null, null, { 'a/b': [{ '~': 1 }] });
    setAllOpen(root, true);
    expect(visibleNodes(root).map((node) => node.pointer)).toEqual(['', '/a~1b', '/a~1b/0', '/a~1b/0/~0']);
  });

  test('search opens the way to what it finds', () => {
    const root = new JsonNode(null, null, { a: { b: { needle: 1 } }, c: 'a Needle' });
    const found = searchNodes(root, 'NEEDLE');
    expect(found.map((node) => node.pointer)).toEqual(['/a/b/needle', '/c']);
    revealNode(found[0] as JsonNode);
    root.isOpen = true;
    expect(visibleNodes(root)).toContain(found[0]);
  });

  test('100,000 nodes and 100,000 levels', () => {
    const wide = new JsonNode(null, null, Array.from({ length: 50_000 }, (_, at) => ({ at })));
    const start = process.cpuUsage();
    setAllOpen(wide, true);
    expect(visibleNodes(wide)).toHaveLength(100_001);
    expect(searchNodes(wide, '49999').length).toBeGreaterThan(0);
    // CPU time is measured, because the load of the machine must not matter.
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(1_000);

    const deep = new JsonNode(null, null, parseJson('['.repeat(100_000) + ']'.repeat(100_000)));
    setAllOpen(deep, true);
    expect(visibleNodes(deep)).toHaveLength(100_000);
    expect(writeJson(deep.value, 0)).toHaveLength(200_000);
  });

  test('it opens no further than the screen needs', () => {
    const root = new JsonNode(null, null, Array.from({ length: 1_000 }, () => ({ a: 1, b: 2 })));
    openToSize(root, 100);
    expect(visibleNodes(root).length).toBe(1_001);
    const small = new JsonNode(null, null, { a: { b: { c: 1 } } });
    openToSize(small, 100);
    expect(visibleNodes(small)).toHaveLength(4);
  });
});
