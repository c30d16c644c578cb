import { describe, expect, test } from 'vitest';
import { emptyStream, fold, streamFromSnapshot, type StreamState } from './stream';
import { parseJson, writeJson } from './json';
import { applyPatch } from './stream-patch';

const ENVELOPE = {
  response_type: 'live_execution',
  summary: 'Running',
  artifacts: [
    { artifact_type: 'table', title: 'T', content: { columns: ['a'], rows: [[1]], row_count: 1 } },
    { artifact_type: 'timeline', title: 'L', content: { events: [] } },
    { artifact_type: 'document', title: 'D', content: { sections: [{ heading: 'H', content: 'one' }] } },
    { artifact_type: 'code_block', title: 'C', content: { code: 'a', language: 'python' } },
  ],
  signals_emitted: [],
};

let seq = 0;
const event = (kind: string, body?: unknown) => ({ seq: (seq += 1), time: '2026-01-01T00:00:00Z', stream: 's', kind, body });

function run(...events: { kind: string; body?: unknown }[]): StreamState {
  seq = 0;
  return events.reduce((state, one) => fold(state, event(one.kind, one.body)), emptyStream());
}

function artifact(state: StreamState, at: number): Record<string, unknown> {
  return (state.envelope?.artifacts as { content: Record<string, unknown> }[])[at]?.content ?? {};
}

describe('each kind', () => {
  const start = { kind: 'envelope', body: ENVELOPE };
  test('rows', () => {
    const state = run(start, { kind: 'rows', body: { artifact: 0, rows: [[2], [3]] } });
    expect(artifact(state, 0)).toEqual({ columns: ['a'], rows: [[1], [2], [3]], row_count: 3 });
    expect(ENVELOPE.artifacts[0]?.content.rows).toEqual([[1]]);
  });
  test('events', () => {
    const state = run(start, { kind: 'events', body: { artifact: 1, events: [{ timestamp: 't1' }, { timestamp: 't2' }] } });
    expect(artifact(state, 1)).toMatchObject({ event_count: 2, start_time: 't1', end_time: 't2' });
  });
  test('text', () => {
    const state = run(
      start,
      { kind: 'text', body: { artifact: 2, section: 0, text: ' two' } },
      { kind: 'text', body: { artifact: 2, section: 1, text: 'new' } },
      { kind: 'text', body: { artifact: 3, text: '\nb' } },
      { kind: 'text', body: { text: ' on' } },
    );
    expect(artifact(state, 2).sections).toEqual([{ heading: 'H', content: 'one two' }, { heading: '', content: 'new' }]);
    expect(artifact(state, 3)).toMatchObject({ code: 'a\nb', line_count: 2 });
    expect(state.envelope?.summary).toBe('Running on');
    expect(state.warnings).toEqual([]);
  });
  test('patch', () => {
    const state = run(start, { kind: 'patch', body: { patch: [{ op: 'replace', path: '/summary', value: 'Done' }] } });
    expect(state.envelope?.summary).toBe('Done');
  });
  test('signal, note, end', () => {
    const state = run(start, { kind: 'signal', body: { signal_type: 'x' } }, { kind: 'note', body: { text: 'hello' } }, { kind: 'end', body: { outcome: 'completed', digest: 'ab' } });
    expect(state.envelope?.signals_emitted).toEqual([{ signal_type: 'x' }]);
    expect(state).toMatchObject({ isEnded: true, outcome: 'completed', digest: 'ab' });
    expect(fold(state, event('note', { text: 'late' })).warnings.join()).toMatch(/after the end/);
  });
  test('the outcome may come before the end', () => {
    expect(run(start, { kind: 'outcome', body: { outcome: 'failed' } }, { kind: 'end', body: { digest: 'ab' } })).toMatchObject({ isEnded: true, outcome: 'failed' });
    expect(run(start, { kind: 'outcome', body: 7 }, { kind: 'end' })).toMatchObject({ isEnded: true, outcome: 'ended' });
  });
  test('unknown kinds change nothing', () => {
    const state = run(start, { kind: 'hologram', body: { x: 1 } });
    expect(state).toMatchObject({ last: 2, envelope: ENVELOPE, warnings: [] });
  });
});

test('old events change nothing', () => {
  const state = run({ kind: 'envelope', body: ENVELOPE });
  expect(fold(state, { seq: 1, kind: 'end', body: {} })).toBe(state);
  const snapshot = streamFromSnapshot(ENVELOPE, 40);
  expect(fold(snapshot, { seq: 40, kind: 'end' })).toBe(snapshot);
  expect(fold(snapshot, { seq: 41, kind: 'end' }).isEnded).toBe(true);
});

test.each<[string, unknown, RegExp]>([
  ['rows', { artifact: 9, rows: [] }, /artifact 9 does not exist/],
  ['rows', { artifact: 1, rows: [] }, /is no table/],
  ['rows', { artifact: 0, rows: 'x' }, /not a list/],
  ['rows', null, /not a list/],
  ['events', { artifact: -1, events: [] }, /does not exist/],
  ['text', { artifact: 0, text: 'x' }, /holds no text/],
  ['text', { artifact: 2, section: 7, text: 'x' }, /section 7/],
  ['text', { text: 5 }, /not text/],
  ['patch', { patch: [{ op: 'remove', path: '/nope' }] }, /"nope" does not exist/],
  ['patch', { patch: 'x' }, /not a list/],
  ['patch', { patch: [{ op: 'replace', path: '', value: 3 }] }, /no envelope/],
  ['signal', 'x', /not an object/],
  ['note', {}, /no text/],
  ['envelope', [], /not an object/],
])('a bad %s %j warns and keeps the rest', (kind, body, warning) => {
  const state = run({ kind: 'envelope', body: ENVELOPE }, { kind, body });
  expect(state.warnings.join()).toMatch(warning);
  expect(state.envelope).toEqual(ENVELOPE);
});

test.each([null, 5, 'x', {}, { seq: 'a' }, { seq: Number.NaN, kind: 'end' }])('%j is passed over', (bad) => {
  expect(fold(emptyStream(), bad).warnings).toHaveLength(1);
});

test('warnings are bounded', () => {
  let state = emptyStream();
  for (let at = 1; at <= 2_500; at += 1) state = fold(state, { seq: at, kind: 'rows', body: { rows: [] } });
  expect(state.warnings).toHaveLength(100);
});

test.each<[string, unknown, unknown[], unknown]>([
  ['add to a list', [1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
  ['append', [1], [{ op: 'add', path: '/-', value: 2 }], [1, 2]],
  ['move', { a: 1, b: {} }, [{ op: 'move', from: '/a', path: '/b/c' }], { b: { c: 1 } }],
  ['copy', { a: [1] }, [{ op: 'copy', from: '/a', path: '/b' }], { a: [1], b: [1] }],
  ['test then remove', { a: 1 }, [{ op: 'test', path: '/a', value: 1 }, { op: 'remove', path: '/a' }], {}],
  ['escaped names', { 'a/b': { '~': 1 } }, [{ op: 'replace', path: '/a~1b/~0', value: 2 }], { 'a/b': { '~': 2 } }],
  ['a failing test', { a: 1 }, [{ op: 'remove', path: '/a' }, { op: 'test', path: '', value: 1 }], undefined],
  ['out of range', [], [{ op: 'add', path: '/1', value: 1 }], undefined],
  ['into itself', { a: {} }, [{ op: 'move', from: '/a', path: '/a/b' }], undefined],
  ['through a number', { a: 1 }, [{ op: 'add', path: '/a/b', value: 1 }], undefined],
  ['prototype', {}, [{ op: 'add', path: '/__proto__/polluted', value: 1 }], undefined],
  ['constructor', {}, [{ op: 'replace', path: '/constructor/prototype', value: 1 }], undefined],
  ['no value', {}, [{ op: 'add', path: '/a' }], undefined],
  ['unknown op', {}, [{ op: 'merge', path: '/a' }], undefined],
])('patch: %s', (_, before, patch, after) => {
  const copy = structuredClone(before);
  const result = applyPatch(before, patch);
  expect(before).toEqual(copy);
  expect(result.isApplied ? result.value : undefined).toEqual(after);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('numbers keep their digits through every kind of event', () => {
  const big = '12345678901234567890';
  const state = [
    `{"seq":1,"kind":"envelope","body":{"artifacts":[{"artifact_type":"table","content":{"columns":["n"],"rows":[[${big}]]}}],"metadata":{"n":9007199254740993}}}`,
    `{"seq":2,"kind":"rows","body":{"artifact":0,"rows":[[9007199254740993]]}}`,
    `{"seq":3,"kind":"patch","body":{"patch":[{"op":"test","path":"/metadata/n","value":9007199254740993},{"op":"add","path":"/metadata/m","value":1e400}]}}`,
    `{"seq":4,"kind":"patch","body":{"patch":[{"op":"test","path":"/metadata/n","value":9007199254740992},{"op":"remove","path":"/metadata"}]}}`,
  ].reduce((before, text) => fold(before, parseJson(text)), emptyStream());
  expect(writeJson(state.envelope, 0)).toBe(`{"artifacts":[{"artifact_type":"table","content":{"columns":["n"],"rows":[[${big}],[9007199254740993]],"row_count":2}}],"metadata":{"n":9007199254740993,"m":1e400}}`);
  expect(state.warnings).toHaveLength(1);
});
