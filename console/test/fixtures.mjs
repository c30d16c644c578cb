// Documents for the mock server, at least one of each kind that a page shows.

const minutes = (count) => new Date(Date.now() + count * 60_000).toISOString();
const uuid = (number) => `018f6b2e-0000-7000-8000-${String(number).padStart(12, '0')}`;
const hex = (number) => (number * 2654435761 >>> 0).toString(16).padStart(8, '0').repeat(8);

const bundle = {
  response_type: 'artifact_bundle',
  summary: 'Mission completed. Found 50 quotes from 10 pages.',
  artifacts: [
    { artifact_type: 'table', title: 'Top quotes', content: { columns: ['Quote', 'Author', 'Likes'], rows: [['To be or not to be', 'Shakespeare', 120], ['I can resist everything except temptation', 'Oscar Wilde', 98], ['=HYPERLINK("x")', 'Formula', 3]], row_count: 3 }, metadata: {} },
    { artifact_type: 'chart', title: 'Quotes a page', content: { chart_type: 'line', data: { labels: ['1', '2', '3', '4'], datasets: [{ label: 'Quotes', data: [10, 12, 8, 20] }] } }, metadata: {} },
    { artifact_type: 'document', title: 'Report', content: { format: 'markdown', sections: [{ heading: 'Summary', content: 'Scraped **50 quotes**.\n\n- one\n- two\n\n<script>alert(1)</script>' }, { heading: 'Findings', content: 'Top author: *Oscar Wilde*' }] }, metadata: {} },
    { artifact_type: 'code_block', title: 'Script', content: { code: "def hello():\n    print('Hello, World!')", language: 'python' }, metadata: {} },
    { artifact_type: 'timeline', title: 'Execution', content: { events: [{ timestamp: '2026-11-16T08:00:00Z', event: 'Navigation started', status: 'success' }, { timestamp: '2026-11-16T08:00:30Z', event: 'Page 1 read', status: 'success' }, { timestamp: '2026-11-16T08:01:00Z', event: 'Page 2 timed out', status: 'failed' }] }, metadata: {} },
    { artifact_type: 'file_reference', title: 'Export', content: { file_path: '/outputs/quotes.csv', file_type: 'csv', size_bytes: 2048 }, metadata: {} },
    { artifact_type: 'json_data', title: 'Raw', content: { data: { a: [1, 2, { b: null }], id: 12 } }, metadata: {} },
    { artifact_type: 'mission_draft', title: 'Next mission', content: { mission_id: uuid(9), status: 'proposed', objective_type: 'extract', objective_description: 'Find 50 more' }, metadata: {} },
    { artifact_type: 'signal_batch', title: 'Signals', content: { signals: [{ signal_type: 'selector_outcome', signal_layer: 'selector', signal_source: 'web_navigator', timestamp: '2026-11-16T08:00:10Z', summary: 'Found pagination' }] }, metadata: {} },
  ],
  missions_spawned: [{ mission_id: uuid(9), status: 'proposed', objective_type: 'extract', objective_description: 'Find 50 more quotes' }],
  signals_emitted: [{ signal_type: 'goal_evaluation', signal_layer: 'mission', signal_source: 'goal_evaluator', timestamp: '2026-11-16T08:01:30Z', summary: 'Goal met' }],
  live_stream_id: 'crawl-7',
  ui_hints: { layout: 'inline', priority: 'normal', suggested_actions: ['Review', 'Export'], color_scheme: 'success', icon: 'checkmark', expandable: true },
  metadata: { duration_ms: 45000 },
  timestamp: '2026-11-16T08:02:00+00:00',
};
const plain = { response_type: 'text', summary: 'I found 50 quotes and wrote them to the table above.', artifacts: [], missions_spawned: [], signals_emitted: [], live_stream_id: null, ui_hints: null, metadata: {}, timestamp: '2026-11-16T08:05:00+00:00' };

function reply(index, overrides = {}, document = plain) {
  const row = {
    id: uuid(index), index, time: minutes(-index % 90 - 2), kind: 'response', contract: 'ui', outcome: 'ok', tool: null, agent: 'crawler', server: null, principal: 'agent-1', summary: document.summary,
    artifacts: {}, live_stream_id: null, erased: false, ...overrides,
  };
  for (const artifact of document.artifacts ?? []) row.artifacts[artifact.artifact_type] = (row.artifacts[artifact.artifact_type] ?? 0) + 1;
  return { reply: row, contract: row.contract, document, ui: document, losses: [], findings: [], request: null, parts: [{ name: 'received', bytes: 480, text: JSON.stringify(document) }], cases: [], presentation: { presentation: 'text', reason: 'no artifacts' }, proofState: 'verified' };
}

function caseOf(number, kind, content, overrides = {}) {
  const allowed = kind === 'question' ? ['respond', 'reject', 'defer'] : ['approve', 'modify', 'reject', 'respond', 'defer'];
  const { isContested, acknowledged = null, is_expired = false, created = minutes(-12), ...rest } = overrides;
  return { case: { id: uuid(500 + number), kind, digest: hex(number + 7), revision: 0, allowed, expires: minutes(14), state: { status: 'open' }, ...rest }, created, content, reference: 'entry/12', is_expired, acknowledged, isContested };
}

export function fixtures(isEmpty) {
  const KINDS = ['config', 'request', 'response', 'validation', 'request', 'response', 'escalation', 'decision', 'rejected'];
  const entries = isEmpty ? [] : Array.from({ length: 137 }, (_, index) => ({ index, time: minutes(index - 140), kind: KINDS[index % KINDS.length], hash: hex(index), leaf: { v: 1, kind: KINDS[index % KINDS.length], ts: minutes(index - 140), tool: index % 3 === 0 ? 'fetch_page' : undefined, agent: 'crawler', request_id: uuid(index) } }));
  const replies = isEmpty
    ? []
    : [
        reply(136, { outcome: 'ok', artifacts: {}, live_stream_id: 'crawl-7' }, bundle),
        reply(135, { kind: 'rejected', outcome: 'rejected', summary: 'The document was refused: its prompt hash does not match the lock.' }),
        reply(134, { kind: 'validation', contract: 'tool', outcome: 'tool_error', tool: 'fetch_page', server: 'web', summary: 'fetch_page: /url is missing' }),
        reply(133, { kind: 'escalation', contract: null, outcome: null, tool: 'fetch_page', server: 'web', summary: 'fetch_page is blocked after 3 failed attempts' }),
        reply(132, { contract: 'atdf', outcome: 'warned', tool: 'search', server: 'web' }),
        reply(131, { contract: 'governed', outcome: 'refused', summary: 'The agent may not answer questions about salaries.' }),
        reply(130, { erased: true, summary: '' }),
        ...Array.from({ length: 110 }, (_, index) => reply(129 - index, { outcome: index % 9 === 0 ? 'tool_error' : 'ok', tool: index % 2 ? 'search' : 'fetch_page', contract: 'tool', server: 'web', summary: `Answer ${129 - index}: read https://example.com/page/${index} with 200` })),
      ];
  if (!isEmpty) {
    replies[1].findings = [
      { error_code: 'GOV-004', field_path: '/governance/prompt_hash', message: 'the hash is not the one of the lock', severity: 'error', expected_value: hex(1), actual_value: hex(2) },
      { error_code: 'VAL-010', field_path: '/extra', message: 'an unknown member was passed over', severity: 'warning' },
    ];
    replies[1].proofState = 'mismatch';
    replies[1].ui = null;
    replies[2].request = { index: 12, seen: { name: 'fetch_page', arguments: { uri: 'https://example.com' } }, sent: null };
    replies[2].findings = [{ error_code: 'VAL-001', field_path: '/url', message: 'a required member is missing', severity: 'error' }];
    replies[2].proofState = 'recorded';
    replies[4].losses = ['meta.trace has no place in a UI envelope'];
    replies[6].proofState = 'unverified';
    replies[6].document = null;
    replies[6].ui = null;
    replies[0].cases = [uuid(501)];
  }
  const cases = isEmpty
    ? []
    : [
        caseOf(1, 'proposal', { title: 'Delete 1,204 stale branches', objective_type: 'maintenance', description: 'All branches without a commit for two years. Protected branches stay.', arguments: { repository: 'example/site', older_than_days: 730, is_dry_run: false, keep: 'release/*', account: 7 }, response_schema: { type: 'object', properties: { repository: { type: 'string', title: 'Repository' }, older_than_days: { type: 'integer', minimum: 30, description: 'Days without a commit' }, is_dry_run: { type: 'boolean' }, keep: { type: 'string' }, account: { type: 'integer' } }, required: ['repository', 'older_than_days'] }, risk: 'high', effects: ['Deletes branches on the server', 'Cannot be undone'], proposed_by: 'janitor', reply: { id: uuid(136), index: 136 }, suggested_actions: ['Review', 'Approve'] }),
        caseOf(2, 'proposal', { title: 'Find 50 more quotes', objective_type: 'extract', description: 'Continue with pages 11 to 20.', arguments: { site: 'https://quotes.example.com', pages: [11, 20], options: { depth: 2 } }, risk: 'low', proposed_by: 'crawler', reply: null, trace: { span: 'abc' } }),
        caseOf(3, 'question', { question: 'Which of the two Berlin offices do you mean?', options: [{ id: 'mitte', label: 'Berlin Mitte' }, { id: 'tegel', label: 'Berlin Tegel' }], allow_free_text: true, context: 'The customer wrote only "Berlin".', asked_by: 'assistant', reply: null }, { expires: minutes(3) }),
        caseOf(4, 'escalation', { id: uuid(504), tool: 'fetch_page', server: 'web', status: 'blocked', summary: 'The model called fetch_page three times without a url.\nThe key is blocked.', attempts: [{ attempt: 1, summary: '/url is missing', errors: [{ code: 'VAL-001', path: '/url', count: 1 }], omitted: 0 }, { attempt: 2, summary: '/url is not a URL', errors: [{ code: 'VAL-004', path: '/url', count: 1 }], omitted: 0 }, { attempt: 3, summary: '/url is missing', errors: [{ code: 'VAL-001', path: '/url', count: 1 }], omitted: 2 }], original_call: { tool_call_id: 'c1', arguments: '{"uri":"https://example.com","token":"[redacted: token]"}', digest: hex(3) }, options: ['approve', 'modify', 'respond', 'reject', 'defer'] }),
        caseOf(5, 'proposal', { title: 'Send the weekly report', objective_type: 'send', description: 'To 14 readers.', arguments: { list: 'weekly' }, risk: 'low', proposed_by: 'reporter', reply: null }, { isContested: true }),
        caseOf(6, 'question', { question: 'Use the cached prices?', options: [{ id: 'yes', label: 'Yes' }], allow_free_text: false, asked_by: 'assistant', reply: null }, { state: { status: 'decided', at: minutes(-30), submission: { decision: 'respond', message: 'yes', digest: hex(13), revision: 0, by: 'ada' } }, acknowledged: { at: minutes(-29), by: 'assistant', outcome: 'done', note: null } }),
        caseOf(7, 'proposal', { title: 'Restart the indexer', arguments: {}, proposed_by: 'ops', reply: null }, { expires: minutes(-100), is_expired: true }),
      ];
  const live = { ...bundle, response_type: 'live_execution', summary: 'Reading pages', artifacts: [{ artifact_type: 'table', title: 'Pages', content: { columns: ['Page', 'Status', 'Milliseconds'], rows: [['https://example.com/', 200, 31]] }, metadata: {} }], missions_spawned: [], signals_emitted: [] };
  const events = isEmpty
    ? []
    : [
        { seq: 1, time: minutes(-60), stream: 'build-3', kind: 'envelope', body: { ...plain, summary: 'Build finished' } },
        { seq: 2, time: minutes(-59), stream: 'build-3', kind: 'note', body: { text: 'Tests passed' } },
        { seq: 3, time: minutes(-58), stream: 'build-3', kind: 'end', body: { outcome: 'completed', digest: hex(77) } },
        { seq: 4, time: minutes(-2), stream: 'crawl-7', kind: 'envelope', body: live },
        { seq: 5, time: minutes(-1), stream: 'crawl-7', kind: 'note', body: { text: 'Crawl started' } },
      ];
  const schema = { type: 'object', properties: { url: { type: 'string', format: 'uri', description: 'The page to read' }, timeout: { type: 'integer', minimum: 1 } }, required: ['url'] };
  const tool = (server, name, calls, failed, extra = {}) => ({ server, name, title: null, description: `The tool ${name} of ${server}.`, input_schema: schema, is_changed: false, remarks: [], calls, ok: calls - failed, failed, escalated: failed > 5 ? 1 : 0, rejected: Math.floor(failed / 2), failures: failed ? [{ code: 'VAL-001', path: '/url', count: Math.ceil(failed / 2) }, { code: 'VAL-004', path: '/timeout', count: Math.floor(failed / 2) }] : [], ...extra });
  return {
    entries, replies, cases, events,
    sessions: [{ id: 's1', created: minutes(-100), last_used: minutes(0), is_current: true }, { id: 's2', created: minutes(-4000), last_used: minutes(-1500), is_current: false }],
    tools: { tools: isEmpty ? [] : [tool('web', 'fetch_page', 214, 31, { remarks: [{ weight: 'warning', text: 'Half of all failures are at /url: its description does not say that it must be absolute.' }] }), tool('web', 'search', 98, 4, { is_changed: true }), tool('files', 'read_file', 40, 0), tool('files', 'write_file', 0, 0, { remarks: [{ weight: 'info', text: 'No description of /mode.' }] })], since_index: 0, servers: isEmpty ? [] : [{ name: 'web', is_up: true, place: 'stdio: web-tools' }, { name: 'files', is_up: false, place: 'http://127.0.0.1:9000/mcp' }] },
    agents: isEmpty ? { configured: false, manifest: null, lock: null, problem: null, agents: [] } : { configured: true, manifest: { file: 'agents/manifest.yaml', prompts: 3 }, lock: { file: 'agents/prompts.lock', generated: minutes(-9000), prompts: 3 }, problem: null, agents: [{ id: 'crawler', version: '1.2.0', file: 'prompts/crawler.md', expected_hash: hex(1), actual_hash: hex(1), state: 'ok', type: 'worker' }, { id: 'janitor', version: '0.9.1', file: 'prompts/janitor.md', expected_hash: hex(2), actual_hash: hex(3), state: 'mismatch', type: 'worker' }, { id: 'ghost', version: '0.1.0', file: 'prompts/ghost.md', expected_hash: hex(4), actual_hash: null, state: 'missing', type: 'assistant' }] },
    ledger: () => ({ origin: 'example.com/answerback', size: entries.length, root: hex(99), checkpoint: `example.com/answerback\n${entries.length}\nq83vEjRWeJA=\n\n— example.com/answerback Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n`, key: 'example.com/answerback+f00dcafe+AQ==', witnessed: [['witness.example.org', 120]], entries_by_kind: Object.fromEntries(KINDS.map((kind) => [kind, entries.filter((one) => one.kind === kind).length])) }),
    proof: (index, state) => ({ state, checked_by: 'server', checks: [{ name: 'content', ok: state !== 'mismatch', detail: state === 'mismatch' ? 'the stored bytes have another hash than the leaf says' : 'the stored bytes have the hash that the leaf says' }, { name: 'inclusion', ok: true, detail: `entry ${index} is in the tree of size ${entries.length}` }, { name: 'signature', ok: state === 'verified', detail: state === 'verified' ? 'the checkpoint is signed by the key' : 'no signature yet' }], index, leaf_hash: hex(index), leaf: entries[index]?.leaf ?? {}, size: entries.length, root: hex(99), checkpoint: 'example.com/answerback\n137\nq83v=\n', receipt: 'c2sp.org/tlog-proof@v1\nindex 12\n', key: 'example.com/answerback+f00dcafe+AQ==', command: `answerback ledger verify --index ${index} --key example.com/answerback+f00dcafe+AQ==` }),
    verification: { ok: true, levels: [{ name: 'signatures', ok: true, detail: '14 checkpoints are signed' }, { name: 'tree', ok: true, detail: '137 leaves give the signed root' }, { name: 'leaves', ok: true, detail: 'all leaves read well' }, { name: 'parts', ok: true, detail: '212 parts have their hashes, 1 erased' }], size: entries.length, took_ms: 87, erased_parts: 1, warnings: [] },
    examples: [{ name: 'text', title: 'A plain text', document: plain }, { name: 'bundle', title: 'All nine artifact kinds', document: bundle }],
    folded: (list) => list.reduce((envelope, event) => {
      if (event.kind === 'envelope') return structuredClone(event.body);
      if (event.kind === 'rows') envelope.artifacts[event.body.artifact].content.rows.push(...event.body.rows);
      if (event.kind === 'signal') envelope.signals_emitted.push(event.body);
      return envelope;
    }, null),
  };
}
