import { describe, expect, test } from 'vitest';
import { parseMarkdown, plainText, readDocument, safeAddress, type Block, type Inline } from './markdown';
import { cpuTime } from './cpu-time';

test.each([
  ['https://example.test/a?b', 'example.test'],
  ['http://example.test:8080', 'example.test:8080'],
  ['mailto:a@b.test', 'a@b.test'],
  ['HTTPS://EXAMPLE.test', 'example.test'],
  ['https://xn--80ak6aa92e.com/', 'xn--80ak6aa92e.com'],
  ['https://аррle.test/', 'xn--le-6kc8da.test'],
  ['javascript:alert(1)', null],
  ['JaVaScRiPt:alert(1)', null],
  [' javascript:alert(1)', null],
  ['java\nscript:alert(1)', null],
  ['data:text/html,<script>alert(1)</script>', null],
  ['vbscript:x', null],
  ['file:///etc/passwd', null],
  ['blob:https://a.test/x', null],
  ['//evil.test/x', null],
  ['/api/session', null],
  ['#anchor', null],
  ['https://bank.test@evil.test/', null],
  ['', null],
  [null, null],
  [{}, null],
])('%j leads to %s', (address, host) => {
  expect(safeAddress(address)?.host ?? null).toBe(host);
});

/** Collects every node type of a tree and every address that a user could follow. */
function survey(blocks: Block[]): { kinds: Set<string>; addresses: string[] } {
  const kinds = new Set<string>();
  const addresses: string[] = [];
  const visit = (node: Block | Inline): void => {
    kinds.add(node.kind);
    if (node.kind === 'link' || node.kind === 'image') addresses.push(node.address.href);
    if ('children' in node) node.children.forEach(visit);
    if (node.kind === 'list') node.items.forEach((item) => item.children.forEach(visit));
  };
  blocks.forEach(visit);
  return { kinds, addresses };
}

describe('hostile markdown', () => {
  test.each([
    '<script>alert(1)</script>',
    'text <img src=x onerror=alert(1)> text',
    '<iframe src="https://evil.test"></iframe>',
    '![beacon](https://evil.test/x.png?secret)',
    '![x](javascript:alert(1))',
    '[x](javascript:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x]( "onmouseover=alert(1)")',
    '<javascript:alert(1)>',
    '[x][1]\n\n[1]: javascript:alert(1)',
    '<a href="javascript:alert(1)">x</a>',
    '<svg/onload=alert(1)>',
    '| a |\n|---|\n| <img src=x onerror=alert(1)> |',
    '```html\n<script>alert(1)</script>\n```',
    '- [ ] <script>x</script>',
    '<!-- comment --><style>*{display:none}</style>',
  ])('%j yields only safe nodes', (source) => {
    const { kinds, addresses } = survey(parseMarkdown(source));
    for (const kind of kinds) {
      expect(['paragraph', 'heading', 'code', 'quote', 'list', 'table', 'rule', 'source', 'text', 'strong', 'emphasis', 'deleted', 'break', 'link', 'image', 'refused']).toContain(kind);
    }
    for (const address of addresses) expect(address).toMatch(/^(?:https?|mailto):/);
  });

  test.each([
    ['quotes', '>'.repeat(20_000) + ' x'],
    ['lists', Array.from({ length: 500 }, (_, at) => `${' '.repeat(at * 2)}- x`).join('\n')],
    ['emphasis', '*a _b '.repeat(2_000)],
    ['brackets', '['.repeat(20_000)],
    ['links', '[a]('.repeat(5_000)],
    ['long', 'x'.repeat(3_000_000)],
  ])('%s do not stop the page', (_, source) => {
    expect(cpuTime(() => expect(parseMarkdown(source).length).toBeGreaterThan(0))).toBeLessThan(5_000);
  }, 60_000);
});

test('what people write is kept', () => {
  const blocks = parseMarkdown('# Title\n\nSome **bold** `code` & &lt;text&gt; [site](https://a.test)\n\n- [x] done\n- [ ] open\n\n1. one\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | *2* |\n\n```rust\nfn main() {}\n```\n\n---\n');
  expect(blocks.map((block) => block.kind)).toEqual(['heading', 'paragraph', 'list', 'list', 'quote', 'table', 'code', 'rule']);
  expect(plainText((blocks[1] as { children: Inline[] }).children)).toBe('Some bold code & <text> site');
  expect((blocks[2] as { items: { isDone: boolean | null }[] }).items.map((item) => item.isDone)).toEqual([true, false]);
  expect(blocks[5]).toMatchObject({ columns: [{ label: 'a' }, { label: 'b' }], rows: [['1', '2']] });
  expect(blocks[6]).toMatchObject({ language: 'rust', text: 'fn main() {}' });
});

test.each<[unknown, number]>([
  [{ sections: [{ heading: 'a', content: 'b' }, 'c', null, 5] }, 4],
  [{ content: 'x' }, 1],
  ['x', 1],
  [null, 0],
  [{ sections: 'x' }, 0],
  [{ sections: [{ heading: {}, content: { a: 1 } }] }, 1],
])('%j is a document of %d sections', (content, count) => {
  expect(readDocument(content).sections).toHaveLength(count);
});
