import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import Envelope from './Envelope.svelte';
import { layOutArtifacts } from './layout';
import { readHints } from './types';

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const kinds = (...types: string[]) => types.map((artifact_type) => ({ artifact_type }));

test.each<[string, string[], unknown, number[], boolean]>([
  ['table', ['document', 'table', 'chart'], null, [1, 0, 2], false],
  ['report', ['table', 'document'], null, [1, 0], false],
  ['forecast', ['table', 'chart'], null, [1, 0], true],
  ['live_execution', ['table', 'timeline'], null, [1, 0], false],
  ['artifact_bundle', ['table', 'chart', 'chart'], null, [0, 1, 2], true],
  ['artifact_bundle', ['table', 'chart', 'chart'], { layout: 'inline' }, [0, 1, 2], false],
  ['text', ['table', 'chart'], { layout: 'split' }, [0, 1], true],
  ['text', ['table', 'chart'], { layout: 'modal' }, [0, 1], false],
  ['nonsense', ['x'], { layout: 7 }, [0], false],
])('%s of %j with %j', (type, types, hints, positions, hasColumns) => {
  const layout = layOutArtifacts(type, kinds(...types), readHints(hints));
  expect(layout.placed.map((one) => one.position)).toEqual(positions);
  expect(layout.hasColumns).toBe(hasColumns);
});

test('a narrow card without a neighbor takes the row', () => {
  const { placed } = layOutArtifacts('artifact_bundle', kinds('chart', 'table', 'chart', 'json_data'), readHints(null));
  expect(placed.map((one) => one.isWide)).toEqual([true, true, false, false]);
});

test('one bad artifact leaves the others alone', () => {
  const bad = {};
  Object.defineProperty(bad, 'artifact_type', { enumerable: true, get: () => 'table' });
  Object.defineProperty(bad, 'title', { enumerable: false, get: () => { throw new Error('bad title'); } });
  const { container } = render(Envelope, { envelope: { response_type: 'artifact_bundle', summary: 's', artifacts: [bad, { artifact_type: 'json_data', title: 'Good', content: { fine: true } }] } });
  expect(container.textContent).toContain('Artifact 1 could not be drawn');
  expect(screen.getByText('Good')).toBeTruthy();
});

test.each<unknown>([undefined, null, 5, 'text', [], {}, { artifacts: 'x', missions_spawned: 5, signals_emitted: {}, ui_hints: [], metadata: 'x' }, { artifacts: [null, 1, 'x', []], missions_spawned: [null, 5], signals_emitted: [null], metadata: { a: null } }])('%j does not throw', (envelope) => {
  expect(() => render(Envelope, { envelope })).not.toThrow();
});

test('suggestions are inert, extra fields and questions are shown', () => {
  const { container } = render(Envelope, {
    envelope: {
      response_type: 'clarification_request',
      artifacts: [],
      ui_hints: { priority: 'urgent', suggested_actions: ['Approve', '<b>x</b>'] },
      metadata: { clarification: { question: 'How many?', options: ['10', { id: 'all', label: 'All' }] }, score: 0.5 },
      surprise: { x: 1 },
    },
  });
  expect(screen.queryByRole('button', { name: 'Approve' })).toBeNull();
  expect(container.textContent).toContain('Approve');
  expect(container.textContent).toContain('<b>x</b>');
  expect(container.textContent).toContain('How many?');
  expect(container.textContent).toContain('All');
  expect(container.textContent).toContain('surprise');
  expect(container.textContent).toContain('urgent');
});
