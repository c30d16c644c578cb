import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flushSync, tick } from 'svelte';
import Artifact from './Artifact.svelte';
import FileViewer from './FileViewer.svelte';
import JsonTree from './JsonTree.svelte';
import SignalsViewer from './SignalsViewer.svelte';
import TableViewer from './TableViewer.svelte';
import { groupSignals, readSignals } from './signals';

const KINDS = ['table', 'chart', 'document', 'code_block', 'timeline', 'file_reference', 'json_data', 'mission_draft', 'signal_batch', 'hologram'];
const SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(1)><iframe src="javascript:alert(1)"></iframe>';

/** Contents that fit no kind, or fit one maliciously. */
const HOSTILE: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a number', 7],
  ['text', SCRIPT],
  ['a list', [1, SCRIPT, null, [[]]]],
  ['an empty object', {}],
  ['wrong types', { columns: 5, rows: 'x', data: [], chart_type: {}, sections: 7, code: [], language: {}, events: {}, file_path: 1, signals: 3, status: [] }],
  ['markup everywhere', { columns: [SCRIPT], rows: [[SCRIPT]], data: { labels: [SCRIPT], datasets: [{ label: SCRIPT, data: [1] }] }, chart_type: SCRIPT, sections: [{ heading: SCRIPT, content: SCRIPT }], code: SCRIPT, language: SCRIPT, events: [{ timestamp: SCRIPT, event: SCRIPT, status: SCRIPT, lane: SCRIPT }], file_path: `../../${SCRIPT}`, file_type: SCRIPT, objective_description: SCRIPT, signals: [{ signal_type: SCRIPT, signal_layer: SCRIPT, summary: SCRIPT }] }],
  ['members of null', { columns: [null], rows: [null, [null]], data: { labels: [null], datasets: [null] }, sections: [null], events: [null], signals: [null], code: null }],
  ['hidden characters', { columns: ['\u202ea'], rows: [['\u202eb', '\u0000']], sections: [{ heading: '\u2066', content: '\u202e' }], code: 'if (\u202e)', events: [{ event: '\u202e' }], objective_description: '\u202e' }],
  ['prototype names', { columns: ['__proto__', 'constructor'], rows: [{ ['__proto__']: 1 }], language: '__proto__', chart_type: 'constructor', events: [{ status: '__proto__', lane: 'constructor' }] }],
];

beforeEach(() => {
  // Asking the server is the file viewer's business alone, and it must ask by id.
  vi.stubGlobal('fetch', vi.fn(() => Promise.reject(new TypeError('no server in this test'))));
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe.each(KINDS)('%s', (kind) => {
  test.each(HOSTILE)('shows %s', async (_, content) => {
    const { container } = render(Artifact, { artifact: { artifact_type: kind, title: SCRIPT, content, metadata: { note: SCRIPT } }, position: 0 });
    await tick();
    expect(container.querySelectorAll('script, img, iframe, object, embed, style')).toHaveLength(0);
    expect(container.querySelectorAll('[style*="expression"], [onerror], [onclick]')).toHaveLength(0);
    for (const link of container.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^(?:https?:|mailto:|\/)/);
    expect((container.querySelector('[role=tabpanel]')?.textContent ?? '').trim()).not.toBe('');
    for (const tab of ['Data', 'JSON', 'Provenance']) {
      await fireEvent.click(screen.getByRole('tab', { name: tab }));
      expect(container.querySelectorAll('script, img, iframe')).toHaveLength(0);
      expect((container.querySelector('[role=tabpanel]')?.textContent ?? '').trim()).not.toBe('');
    }
  });
});

test('an unknown kind says so and shows its JSON', () => {
  render(Artifact, { artifact: { artifact_type: 'hologram', content: { beams: 3 } }, position: 0 });
  expect(screen.getByText('unknown artifact type hologram')).toBeTruthy();
  expect(screen.getByRole('tree').textContent).toContain('beams');
});

test('an artifact that throws while it is drawn falls back to its JSON', () => {
  const artifact = { artifact_type: 'table', title: 'Bad', content: {} };
  Object.defineProperty(artifact, 'content', { enumerable: false, get: () => { throw new Error('no content for you'); } });
  const { container } = render(Artifact, { artifact, position: 0 });
  expect(container.textContent).toContain('could not be drawn');
  expect(screen.getByRole('tree').textContent).toContain('Bad');
});

describe('table', () => {
  const content = { columns: ['name', 'score'], rows: [['b', 2], ['a', null], ['c', 10]] };
  const names = (): (string | null)[] => [...document.querySelectorAll('tbody tr:not(.spacer)')].map((row) => row.querySelector('td')?.textContent ?? null);

  test('sorts in three states and says so', async () => {
    render(TableViewer, { content, title: 'T' });
    const button = screen.getByRole('button', { name: /^score/ });
    const seen = [names()];
    for (let click = 0; click < 3; click += 1) {
      await fireEvent.click(button);
      seen.push(names());
    }
    expect(seen).toEqual([['b', 'a', 'c'], ['b', 'c', 'a'], ['c', 'b', 'a'], ['b', 'a', 'c']]);
  });

  test('filters, counts and can be reset', async () => {
    vi.useFakeTimers();
    render(TableViewer, { content, title: 'T' });
    await fireEvent.input(screen.getByRole('searchbox'), { target: { value: 'C' } });
    vi.advanceTimersByTime(100);
    flushSync();
    expect(names()).toEqual(['c']);
    expect(screen.getAllByRole('status')[0]?.textContent).toBe('1 of 3 rows');
    vi.useRealTimers();
  });

  test('keeps its state where the page wants it', async () => {
    const onstate = vi.fn();
    render(TableViewer, { content, title: 'T', state: { text: '', sort: [{ column: 0, isDescending: true }], filters: [], hidden: [1], isWrapped: false, isCompact: false, isFirstPinned: false }, onstate });
    expect(names()).toEqual(['c', 'b', 'a']);
    expect(document.querySelectorAll('th')).toHaveLength(1);
    await fireEvent.click(screen.getByRole('button', { name: /^name/ }));
    expect(onstate).toHaveBeenCalledWith(expect.objectContaining({ sort: [] }));
  });

  test('moves by arrow keys', async () => {
    render(TableViewer, { content, title: 'T' });
    const first = document.querySelector<HTMLElement>('td[tabindex="0"]');
    first?.focus();
    await fireEvent.keyDown(first as HTMLElement, { key: 'ArrowDown' });
    await fireEvent.keyDown(document.querySelector('tr[data-index="1"] td') as HTMLElement, { key: 'ArrowRight' });
    expect(document.querySelector('td.active')?.getAttribute('aria-colindex')).toBe('2');
  });

  test('a large table has few rows in the document', () => {
    render(TableViewer, { content: { columns: ['n'], rows: Array.from({ length: 20_000 }, (_, at) => [at]) }, title: 'T' });
    expect(document.querySelectorAll('tbody tr').length).toBeLessThan(100);
    expect(screen.getByRole('grid').getAttribute('aria-rowcount')).toBe('20001');
  });

  test('a 10 MB cell is cut', () => {
    render(TableViewer, { content: { columns: ['x'], rows: [['y'.repeat(10_000_000)]] }, title: 'T' });
    expect(document.querySelector('td')?.textContent?.length).toBeLessThan(1_000);
  });
});

describe('JSON tree', () => {
  test('is worked by keys', async () => {
    render(JsonTree, { text: '{"a":{"b":9007199254740993},"c":[1,2]}', label: 'J' });
    const tree = screen.getByRole('tree');
    const rows = (): (string | null)[] => [...tree.querySelectorAll('[role=treeitem]')].map((row) => row.getAttribute('aria-level'));
    expect(rows()).toEqual(['1', '2', '3', '2', '3', '3']);
    expect(tree.textContent).toContain('9007199254740993');
    expect(tree.textContent).toContain('beyond 2');
    await fireEvent.keyDown(tree, { key: 'ArrowDown' });
    await fireEvent.keyDown(tree, { key: 'ArrowLeft' });
    expect(rows()).toEqual(['1', '2', '2', '3', '3']);
    await fireEvent.keyDown(tree, { key: '*' });
    expect(rows()).toHaveLength(6);
    await fireEvent.keyDown(tree, { key: 'End' });
    expect(tree.querySelector('[aria-selected=true]')?.textContent).toContain('1');
  });

  test('text that is no JSON is shown with the reason', () => {
    render(JsonTree, { text: '{"a": <script>', label: 'J' });
    expect(document.body.textContent).toContain('expected a value');
    expect(document.body.textContent).toContain('<script>');
    expect(document.querySelectorAll('script')).toHaveLength(0);
  });

  test('hidden characters are written out', () => {
    render(JsonTree, { value: { '\u202ekey': 'pass\u200bword' }, label: 'J' });
    expect(screen.getByRole('tree').textContent).toContain('\\u202ekey');
    expect(screen.getByRole('tree').textContent).toContain('pass\\u200bword');
  });
});

test('signals are grouped in the order of the layers and folded', () => {
  const signal = (signal_layer: unknown, signal_type: string, summary?: string) => ({ signal_layer, signal_type, summary });
  const groups = groupSignals(readSignals([signal('zeta', 'z'), signal('aggregate', 'a'), signal('selector', 's', 'x'), signal('selector', 's', 'x'), signal('mission', 'm'), signal(5, 'n'), signal('intent', 'i')]));
  expect(groups.map((group) => [group.name, group.count, group.lines.length])).toEqual([['selector', 2, 1], ['intent', 1, 1], ['mission', 1, 1], ['aggregate', 1, 1], ['5', 1, 1], ['zeta', 1, 1]]);
  render(SignalsViewer, { signals: [signal('selector', 's', 'x'), signal('selector', 's', 'x')] });
  expect(document.body.textContent).toContain('×2');
});

describe('file', () => {
  test('is asked for by id, never by path', async () => {
    const asked: string[] = [];
    vi.stubGlobal('fetch', vi.fn((address: string) => {
      asked.push(address);
      return Promise.resolve(new Response(address.endsWith('/state') ? JSON.stringify({ state: 'available', size: 20, sha256: 'ab', media_type: 'text/csv', preview: 'csv', solution: null }) : 'a,b\n=1,<script>\n'));
    }));
    render(FileViewer, { content: { file_path: 'https://evil.test/../../etc/passwd', file_type: 'csv' }, title: 'F', position: 2, reply: { id: 'r/1', index: 4 } });
    await fireEvent.click(await screen.findByRole('button', { name: 'Preview' }));
    await screen.findByRole('grid');
    expect(asked).toEqual(['/api/replies/r%2F1/artifacts/2/file/state', '/api/replies/r%2F1/artifacts/2/file']);
    expect(screen.getByRole('grid').textContent).toContain('<script>');
    for (const link of document.querySelectorAll('a')) expect(link.getAttribute('href')).toBe('/api/replies/r%2F1/artifacts/2/file');
  });

  test.each(['missing', 'changed', 'not served'])('%s is said in words', async (state) => {
    vi.stubGlobal('fetch', vi.fn(() => Promise.resolve(new Response(JSON.stringify({ state, size: null, sha256: null, media_type: 'text/plain', preview: null, solution: 'Ask the agent again.' })))));
    render(FileViewer, { content: { file_path: 'a.txt' }, title: 'F', position: 0, reply: { id: 'r', index: 1 } });
    expect(await screen.findByText('Ask the agent again.')).toBeTruthy();
    expect(document.body.textContent).toContain(state);
  });
});
