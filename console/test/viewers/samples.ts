/** Artifacts of every type: ordinary, large and hostile. */

const minute = (value: number): string => new Date(Date.UTC(2026, 1, 7, 20, 0, 0) + value * 60_000).toISOString();

export const artifacts: Record<string, unknown> = {
  table: {
    artifact_type: 'table',
    title: 'Top Quotes',
    content: {
      columns: ['Quote', 'Author', 'Tags', { key: 'likes', label: 'Likes', type: 'integer' }, 'Published', 'Verified'],
      rows: [
        ['The only way to do great work is to love what you do', 'Steve Jobs', 'inspiration', 1240, '2005-06-12', true],
        ['Innovation distinguishes between a leader and a follower', 'Steve Jobs', 'leadership', 982, '1998-01-20', true],
        ["Life is what happens when you're busy making other plans", 'John Lennon', 'life', 2210, '1980-11-17', true],
        ['Be yourself; everyone else is already taken', 'Oscar Wilde', 'self', 3120, '1891-07-01', false],
        ['כל הדרכים מובילות לרומא', 'פתגם', 'travel', 87, null, false],
        ['I have not failed. I have just found 10,000 ways that will not work', 'Thomas Edison', 'perseverance', 1560, '1910-03-02', true],
        ['In the middle of difficulty lies opportunity', 'Albert Einstein', null, 1893, '1943-05-06', false],
        ['道可道，非常道', '老子', 'wisdom', 402, null, true],
      ],
      row_count: 8,
      column_count: 6,
    },
    metadata: { source: 'quotes.toscrape.com', answerback: { version: 3, status: 'final' } },
  },
  chart: {
    artifact_type: 'chart',
    title: 'Revenue and forecast',
    content: {
      chart_type: 'line',
      y: { label: 'Revenue', unit: 'k€' },
      data: {
        labels: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
        datasets: [
          { label: 'Actual', data: [100, 120, 150, 148, 171, 190, 204, 198, 221, null, null, null] },
          { label: 'Forecast', data: [null, null, null, null, null, null, null, 198, 219, 236, 251, 270] },
          { label: 'Plan', data: [110, 120, 130, 140, 155, 170, 185, 200, 215, 230, 245, 260] },
        ],
      },
    },
    metadata: {},
  },
  bar: {
    artifact_type: 'chart',
    title: 'Calls per tool',
    content: { chart_type: 'bar', data: { labels: ['search', 'fetch', 'summarise', 'translate'], datasets: [{ label: 'Passed', data: [120, 84, 45, 12] }, { label: 'Failed', data: [8, 21, 3, 1] }] } },
  },
  pie: { artifact_type: 'chart', title: 'Outcomes', content: { chart_type: 'pie', data: { labels: ['ok', 'warned', 'rejected', 'escalated'], datasets: [{ label: 'Replies', data: [640, 120, 48, 9] }] } } },
  scatter: {
    artifact_type: 'chart',
    title: 'Latency by size',
    content: { chart_type: 'scatter', data: { datasets: [0, 1].map((set) => ({ label: set === 0 ? 'cached' : 'cold', data: Array.from({ length: 80 }, (_, at) => ({ x: (at * 37) % 100, y: 20 + set * 40 + Math.sin(at * 7) * 15 + ((at * 37) % 100) / 3 })) })) } },
  },
  'bad-chart': { artifact_type: 'chart', title: 'A chart that cannot be drawn', content: { chart_type: 'radar', data: { labels: ['a', 'b'], datasets: [{ label: 'x', data: ['n/a', 'many'] }] } } },
  'side-by-side': { artifact_type: 'chart', title: 'Lists that are not understood', content: { chart_type: 'bar', data: { x: [10, 20, 30], y: [1, 5, 2] } } },
  'line-points': { artifact_type: 'chart', title: 'A line of points', content: { chart_type: 'line', unit: 'ms', data: { datasets: [{ label: 'cold', data: [{ x: 1, y: 4 }, { x: 2, y: 6 }, null, { x: 10, y: 3 }, { x: 30, y: 9 }] }, { label: 'warm', data: [[5, 1], [20, 2]] }] } } },
  document: {
    artifact_type: 'document',
    title: 'Mission report',
    content: {
      format: 'markdown',
      sections: [
        { heading: 'Execution summary', content: 'Successfully navigated **10 pages** and extracted *50 unique quotes*. See the [source](https://quotes.toscrape.com/page/1) or write to <mailto:team@example.test>.\n\n> Quality is not an act, it is a habit.\n\n- [x] Navigate\n- [x] Extract\n- [ ] Publish' },
        { heading: 'Findings', content: '### By author\n\n| Author | Quotes | Share |\n|---|---:|---:|\n| Steve Jobs | 5 | 10 % |\n| John Lennon | 3 | 6 % |\n| Oscar Wilde | 2 | 4 % |\n\n### How\n\n1. Open the page\n2. Read `div.quote`\n3. Follow *next*\n\n```python\ndef quotes(page):\n    # every quote on the page\n    return [q.text for q in page.select("div.quote")]\n```' },
        { heading: 'Performance', content: 'Completed in 45 seconds with a 100 % success rate. ![Throughput](https://charts.example.test/t.png)\n\nNothing below is markup: <b>bold?</b> <script>alert(1)</script>' },
      ],
      section_count: 3,
    },
    metadata: {},
  },
  code: {
    artifact_type: 'code_block',
    title: 'Generated script',
    content: {
      language: 'python',
      code: '"""Collects quotes, politely."""\nfrom __future__ import annotations\n\nimport time\nfrom dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Quote:\n    text: str\n    author: str\n    likes: int = 0\n\n\ndef collect(pages: int = 10, *, delay: float = 0.5) -> list[Quote]:\n    found: list[Quote] = []\n    for number in range(1, pages + 1):\n        page = fetch(f"https://quotes.toscrape.com/page/{number}")\n        found.extend(Quote(q.text, q.author) for q in page)\n        time.sleep(delay)  # be kind to the server\n    return found\n',
      line_count: 22,
    },
  },
  diff: { artifact_type: 'code_block', title: 'Proposed change', content: { language: 'diff', code: '--- a/retry.rs\n+++ b/retry.rs\n@@ -10,4 +10,5 @@\n fn limit() -> u32 {\n-    3\n+    // one more, because the upstream is slow\n+    4\n }\n' } },
  trojan: { artifact_type: 'code_block', title: 'Looks harmless', content: { language: 'javascript', code: 'const isAdmin = false;\n/*\u202e } \u2066if (isAdmin)\u2069 \u2066 begin admins only */\n  console.log("You are an ad\u200bmin.");\n/* end admins only \u202e { \u2066*/\n' } },
  timeline: {
    artifact_type: 'timeline',
    title: 'Execution timeline',
    content: {
      events: [
        { timestamp: '2026-02-07T20:07:15Z', event: 'Started navigation', status: 'success' },
        { timestamp: '2026-02-07T20:07:22Z', event: 'Consent dialog found', status: 'warning', details: 'Dismissed by the second selector.' },
        { timestamp: '2026-02-07T20:07:31Z', event: 'Page 7 did not answer', status: 'failed', duration_ms: 9000 },
        { timestamp: '2026-02-07T20:07:45Z', event: 'Page 7 again, extracted 5 quotes', status: 'success', duration_ms: 2400 },
        { timestamp: '2026-02-07T20:07:58Z', event: 'Waiting for approval to publish', status: 'pending' },
        { timestamp: '2026-02-07T20:08:00Z', event: 'All 10 pages processed', status: 'success' },
      ],
      event_count: 6,
    },
  },
  lanes: {
    artifact_type: 'timeline',
    title: 'Four workers',
    content: { events: Array.from({ length: 240 }, (_, at) => ({ timestamp: minute(at * 0.4 + (at % 7)), event: `Task ${at + 1}`, status: ['success', 'success', 'success', 'retry', 'failed', 'running'][at % 6], lane: ['browser', 'extractor', 'writer', 'reviewer'][at % 4], duration_ms: at % 3 === 0 ? 90_000 + (at % 5) * 60_000 : undefined })) },
  },
  file: { artifact_type: 'file_reference', title: 'Results export', content: { file_path: '/outputs/quotes.csv', file_type: 'csv', size_bytes: 2048 } },
  json: {
    artifact_type: 'json_data',
    title: 'Raw response',
    content: { request: { id: '0035d374', model: 'relay-2', big: 2 ** 60, nested: { list: [1, 2, [3, 4, { deep: true }]], nothing: null } }, headers: { 'content-type': 'application/json', 'x-trace/~id': 'a1b2' }, text: 'A longer text that goes on for a while, so that the row is cut and the detail below shows it in full. '.repeat(4), hidden: 'pass\u200bword \u202eevil', html: '<script>alert(1)</script>' },
  },
  mission: {
    artifact_type: 'mission_draft',
    title: 'Mission proposal',
    content: { mission_id: '0035d374-2f36-499f-afba-10a2fd3d47e9', status: 'proposed', objective_type: 'extract', objective_description: 'Find 50 quotes from quotes.toscrape.com and publish them to the team space', risk: 'high', effects: ['Opens 10 pages on quotes.toscrape.com', 'Writes one page to the team space'], arguments: { url: 'https://quotes.toscrape.com', limit: 50, publish: true, tags: ['life', 'love'] }, expires_at: '2026-02-07T21:00:00Z' },
    metadata: { awaiting_approval: true },
  },
  signals: {
    artifact_type: 'signal_batch',
    title: 'Navigation signals',
    content: {
      signals: [
        { signal_type: 'mission_proposed', signal_layer: 'mission', signal_source: 'chat_intake', timestamp: minute(0), summary: 'Mission proposal created from chat intent' },
        ...Array.from({ length: 5 }, (_, at) => ({ signal_type: 'selector_outcome', signal_layer: 'selector', signal_source: 'web_navigator', timestamp: minute(1 + at / 10), summary: 'Found pagination link (xpath)' })),
        { signal_type: 'selector_outcome', signal_layer: 'selector', signal_source: 'web_navigator', timestamp: minute(2), summary: 'No consent dialog' },
        { signal_type: 'navigation_intent', signal_layer: 'intent', signal_source: 'navigation_intent_engine', timestamp: minute(1.5), summary: 'Go to the next page' },
        { signal_type: 'selector_aggregate', signal_layer: 'aggregate', signal_source: 'web_navigator', timestamp: minute(4), summary: 'Total: 50 selectors attempted, 45 succeeded' },
        { signal_type: 'weather', signal_layer: 'cosmic', signal_source: 'elsewhere', timestamp: minute(3) },
      ],
    },
  },
  unknown: { artifact_type: 'hologram', title: 'From the future', content: { beams: 3, colour: 'blue' }, hue: 12 },
  ragged: { artifact_type: 'table', title: 'Ragged and hostile', content: { columns: ['a', '=cmd()', '<img src=x onerror=alert(1)>'], rows: [['=1+1', '@SUM(A1)', '<script>alert(1)</script>'], ['short'], ['one', 'two', 'three', 'four'], null, { a: 'object' }, ['\u202edesrever', 'x'.repeat(1_000_000), { deep: [1, 2] }]], row_count: 99 } },
};

export const envelopes: Record<string, unknown> = {
  results: {
    response_type: 'artifact_bundle',
    summary: 'Mission completed! Found 50 quotes from 10 pages.',
    artifacts: [artifacts.table, artifacts.bar, artifacts.pie, artifacts.document, artifacts.timeline],
    missions_spawned: [{ mission_id: '0035d374-2f36-499f-afba-10a2fd3d47e9', status: 'completed', objective_type: 'extract', objective_description: 'Find 50 quotes from quotes.toscrape.com' }],
    signals_emitted: (artifacts.signals as { content: { signals: unknown[] } }).content.signals,
    live_stream_id: null,
    ui_hints: { layout: 'fullscreen', priority: 'normal', suggested_actions: ['Download', 'Share', 'New Mission', 'Done'], color_scheme: 'success', icon: 'checkmark', expandable: true },
    timestamp: minute(8),
    metadata: { mission_id: '0035d374-2f36-499f-afba-10a2fd3d47e9', mission_duration_ms: 45500, items_collected: 50, pages_processed: 10, success_rate: 0.9 },
  },
  question: { response_type: 'clarification_request', summary: 'How many quotes would you like?', artifacts: [], ui_hints: { priority: 'urgent', color_scheme: 'info', icon: 'question', suggested_actions: ['Respond', 'Cancel'] }, metadata: { clarification: { question: 'How many quotes would you like?', options: ['10', '50', '100', 'All'], context: { source: 'user_chat' } } } },
  error: { response_type: 'text', summary: '❌ Error: Navigation failed', artifacts: [], ui_hints: { priority: 'urgent', color_scheme: 'error', suggested_actions: ['Retry', 'Cancel'] }, metadata: { error: true, error_message: 'Navigation failed', error_details: { reason: 'timeout', retry_count: 3 } } },
  hostile: {
    response_type: 7,
    summary: { not: 'text' },
    artifacts: [artifacts.ragged, artifacts.unknown, null, 5, 'text', { artifact_type: 'chart' }, { artifact_type: 'timeline', content: { events: 'no' } }, { artifact_type: 'table' }, { artifact_type: 'document', content: { sections: [{ heading: '<img src=x onerror=alert(1)>', content: '<iframe src=https://evil.test></iframe>\n\n![x](https://evil.test/beacon.png)\n\n[x](javascript:alert(1))' }] } }, artifacts.trojan, { artifact_type: 'file_reference', content: { file_path: '../../etc/passwd' } }],
    missions_spawned: 'none',
    signals_emitted: [null, 5, { signal_layer: {} }],
    ui_hints: [],
    metadata: { '<script>': '<script>alert(1)</script>', __proto__x: 1 },
    extra_field: { x: 1 },
  },
};

export function bigTable(): unknown {
  const words = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel'];
  const rows = Array.from({ length: 50_000 }, (_, at) => [at, `name ${(at * 7919) % 50_000}`, words[at % 8], Math.round(Math.sin(at) * 1e6) / 100, at % 3 === 0, minute(at), `https://example.test/item/${at}`, at % 11 === 0 ? null : (at * 31) % 997, `Text of row ${at} with ${words[(at * 5) % 8]} and ${words[(at * 3) % 8]}`, `${words[(at * 13) % 8]}-${(at * 104_729) % 100_003}`]);
  return { columns: ['id', 'name', 'word', 'amount', 'flag', 'time', 'link', 'score', 'text', 'code'], rows, row_count: 50_000, column_count: 10 };
}

export function bigJson(): string {
  const value = Array.from({ length: 16_700 }, (_, at) => ({ id: at, name: `item ${at}`, tags: ['a', 'b'], ok: at % 2 === 0 }));
  return JSON.stringify(value);
}

export function bigTimeline(): unknown {
  return { events: Array.from({ length: 10_000 }, (_, at) => ({ timestamp: minute(at / 20), event: `Step ${at + 1}`, status: ['success', 'success', 'retry', 'failed'][at % 4] })) };
}
