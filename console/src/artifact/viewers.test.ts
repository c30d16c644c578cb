import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flushSync, tick } from 'svelte';
import { ownView } from '../lib/view-state.svelte';
import Artifact from './Artifact.svelte';
import FileViewer from './FileViewer.svelte';
import JsonTree from './JsonTree.svelte';
import ChartViewer from './ChartViewer.svelte';
import SignalsViewer from './SignalsViewer.svelte';
import TableViewer from './TableViewer.svelte';
import TimelineViewer from './TimelineViewer.svelte';
import { groupSignals, readSignals } from './signals';

const KINDS = ['table', 'chart', 'document', 'code_block', 'timeline', 'file_reference', 'json_data', 'mission_draft', 'signal_batch', 'hologram'];
const SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(1)><iframe src="javascript:alert(1)"></iframe>';

/** Contents that fit no type, or exploit one. */
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
  // Only the file viewer may send requests, and only by reply id.
  vi.stubGlobal('fetch', vi.fn(() => Promise.reject(new TypeError('no server in this test'))));
  // jsdom has no layout to observe.
  vi.stubGlobal('ResizeObserver', class { observe(): void {} unobserve(): void {} disconnect(): void {} });
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
    const view = ownView();
    view.set({ sort: '-name', hide: 'score' });
    render(TableViewer, { content, title: 'T', view });
    expect(names()).toEqual(['c', 'b', 'a']);
    expect(document.querySelectorAll('th')).toHaveLength(1);
    await fireEvent.click(screen.getByRole('button', { name: /^name/ }));
    expect(view.text()).toBe('hide=score');
    view.set({ q: 'a', 'f.name': '~a', hide: null });
    flushSync();
    expect(names()).toEqual(['a']);
    expect(screen.getByRole<HTMLInputElement>('searchbox').value).toBe('a');
    expect(document.querySelectorAll('th')).toHaveLength(2);
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
    const requests: string[] = [];
    vi.stubGlobal('fetch', vi.fn((address: string) => {
      requests.push(address);
      return Promise.resolve(new Response(address.endsWith('/state') ? JSON.stringify({ state: 'available', size: 20, sha256: 'ab', media_type: 'text/csv', preview: 'csv', solution: null }) : 'a,b\n=1,<script>\n'));
    }));
    render(FileViewer, { content: { file_path: 'https://evil.test/../../etc/passwd', file_type: 'csv' }, title: 'F', position: 2, reply: { id: 'r/1', index: 4 } });
    await fireEvent.click(await screen.findByRole('button', { name: 'Preview' }));
    await screen.findByRole('grid');
    expect(requests).toEqual(['/api/replies/r%2F1/artifacts/2/file/state', '/api/replies/r%2F1/artifacts/2/file']);
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

test('a chart of a shape that is not understood is shown as a tree', () => {
  const content = { chart_type: 'bar', data: { x: [10, 20, 30], y: [1, 5, 2] } };
  const { container } = render(ChartViewer, { content, title: 'C' });
  expect(container.querySelector('canvas')).toBeNull();
  expect(screen.getByRole('tree')).toBeTruthy();
  expect(screen.getByRole('note').textContent).toMatch(/cannot be drawn/);
  cleanup();
  const known = { chart_type: 'bar', data: { labels: ['a'], datasets: [{ data: [1] }] } };
  expect(render(ChartViewer, { content: known, title: 'C' }).container.querySelector('canvas')).not.toBeNull();
});

describe('the view is kept', () => {
  test('of two artifacts apart', async () => {
    const view = ownView();
    const artifact = (title: string) => ({ artifact_type: 'table', title, content: { columns: ['n'], rows: [[1], [2]] } });
    view.set({ 'a1.sort': '-n', 'a0.tab': 'json', 'a0.json.q': '2' });
    render(Artifact, { artifact: artifact('First'), position: 0, view: view.inner('a0') });
    render(Artifact, { artifact: artifact('Second'), position: 1, reply: { id: 'r', index: 1 }, view: view.inner('a1') });
    expect(screen.getAllByRole('tab', { selected: true }).map((tab) => tab.textContent)).toEqual(['JSON', 'View']);
    expect([...document.querySelectorAll('tbody td')].map((cell) => cell.textContent)).toEqual(['2', '1']);
    expect(screen.getByRole('tree').querySelector('.match')?.textContent).toContain('2');
    await fireEvent.click(screen.getAllByRole('tab', { name: 'Data' })[0] as HTMLElement);
    await fireEvent.click(screen.getAllByRole('button', { name: 'Fold' })[1] as HTMLElement);
    expect(Object.fromEntries(new URLSearchParams(view.text()))).toEqual({ 'a0.tab': 'data', 'a0.json.q': '2', 'a1.sort': '-n', 'a1.fold': 'yes' });
  });

  test('of a timeline: list or lanes, zoom, what is hidden and what is open', async () => {
    const view = ownView();
    const content = { events: Array.from({ length: 6 }, (_, at) => ({ timestamp: `2026-01-01T00:00:0${at}Z`, event: `step ${at}`, status: at % 2 === 0 ? 'ok' : '' })) };
    view.set({ as: 'lanes', zoom: 2, at: 0.9, event: 4, hide: '~', times: 'utc' });
    const { rerender } = render(TimelineViewer, { content, title: 'T', view });
    expect(screen.getByRole<HTMLInputElement>('slider').value).toBe('2');
    expect(screen.getByRole('region', { name: 'Event 5' }).textContent).toContain('step 4');
    expect(screen.getByText('3 of 6 events · 5 s')).toBeTruthy();
    await fireEvent.click(screen.getByRole('button', { name: 'Zoom in' }));
    expect(view.get('zoom')).toBe('3');
    await fireEvent.click(screen.getByRole('button', { name: 'Fit' }));
    await fireEvent.click(screen.getByRole('button', { name: /no status/i }));
    await fireEvent.click(screen.getByRole('button', { name: 'Close details' }));
    expect(view.text()).toBe('as=lanes&times=utc');
    view.set({ zoom: 'x', at: 7, event: 99, as: 'nothing' });
    await rerender({});
    expect(screen.getAllByRole('listitem')).toHaveLength(6);
  });

  test('of a chart: its kind, its range, its table', async () => {
    const view = ownView();
    view.set({ kind: 'bar', from: 20, to: 60 });
    const content = { chart_type: 'line', data: { labels: ['a', 'b', 'c', 'd', 'e', 'f'], datasets: [{ label: 's', data: [6, 5, 4, 3, 2, 1] }] } };
    render(ChartViewer, { content, title: 'C', view });
    expect(screen.getByRole('button', { name: 'Bar' }).getAttribute('aria-pressed')).toBe('true');
    expect(screen.getAllByRole<HTMLInputElement>('slider').map((slider) => slider.value)).toEqual(['20', '60']);
    await fireEvent.click(screen.getByRole('button', { name: 'Whole range' }));
    await fireEvent.click(screen.getByRole('button', { name: 'View as table' }));
    await fireEvent.click(screen.getByRole('button', { name: /^s\b/ }));
    expect(view.text()).toBe('kind=bar&as=table&data.sort=s');
    expect(document.querySelector('tbody td')?.textContent).toBe('f');
  });

  test('of signals: order, filter, open one', () => {
    const view = ownView();
    view.set({ order: 'time', q: 'second', signal: 1 });
    render(SignalsViewer, { signals: [{ signal_type: 'first' }, { signal_type: 'second' }], view });
    expect(screen.getByRole('region', { name: 'Signal details' }).textContent).toContain('second');
    expect(screen.getByText('1 of 2 signals')).toBeTruthy();
  });

  test('of a JSON tree: search and place, also when the value is renewed', async () => {
    const view = ownView();
    const value = (more: number) => ({ a: { b: ['needle', 'needle two'] }, c: more });
    view.set({ q: 'needle', at: '/a/b/1' });
    const { rerender } = render(JsonTree, { value: value(1), label: 'J', view });
    const here = () => document.querySelector('[aria-selected=true]')?.textContent;
    expect(here()).toContain('needle two');
    expect(screen.getByText('2 of 2')).toBeTruthy();
    await rerender({ value: value(2) });
    expect(here()).toContain('needle two');
    expect(document.querySelectorAll('.match')).toHaveLength(2);
    await fireEvent.click(screen.getByRole('button', { name: 'Next match' }));
    expect(view.get('at')).toBe('/a/b/0');
    view.set({ q: null, at: null });
    flushSync();
    expect(document.querySelectorAll('.match')).toHaveLength(0);
    expect(screen.getByRole<HTMLInputElement>('searchbox').value).toBe('');
  });
});
