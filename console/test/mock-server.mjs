// The console's API from fixtures, for looking at the built page without a server. Development only.
// Usage: node test/mock-server.mjs [port]; then open http://127.0.0.1:PORT/#t=launch
// MOCK_READ_ONLY=1 and MOCK_EMPTY=1 give those states; MOCK_UPSTREAM=http://127.0.0.1:7399 answers with a real server's API instead.
import { readFile } from 'node:fs/promises';
import { createServer, request as ask } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fixtures } from './fixtures.mjs';

const dist = fileURLToPath(new URL('../../crates/answerback-web/dist/', import.meta.url));
const port = Number(process.argv[2] ?? 7272);
const isEmpty = process.env.MOCK_EMPTY === '1';
const data = fixtures(isEmpty);
const run = 'mock-run-1';
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html answerback-worker";
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const session = {
  principal: 'console',
  scopes: process.env.MOCK_READ_ONLY === '1' ? ['read'] : ['read', 'decide'],
  server: run,
  version: '0.1.0',
  log: 'example.com/answerback',
  demo: false,
  commands: { link: 'answerback link --store ./state/ledger.db', verify: 'answerback ledger verify --store ./state/ledger.db', inbox: 'answerback inbox list --store ./state/ledger.db' },
};
let isOpen = false;
let isTokenUsed = false;
const readers = new Set();
let seq = data.events.at(-1)?.seq ?? 0;

const problem = (status, code, message, details = {}) => ({ status, body: { status: 'error', data: { code, message, details }, meta: {} } });
const level = () => ({ size: data.entries.length, waiting: data.cases.filter((one) => one.case.state.status !== 'decided' && !one.is_expired).length });
const broadcast = (text) => readers.forEach((reader) => reader.write(text));

function publish(stream, kind, body) {
  seq += 1;
  const event = { seq, time: new Date().toISOString(), stream, kind, body };
  data.events.push(event);
  broadcast(`event: live\nid: ${seq}\ndata: ${JSON.stringify(event)}\n\n`);
}

// One stream stays live, so that the live pages have data.
if (!isEmpty) {
  let turn = 0;
  setInterval(() => {
    turn += 1;
    publish('crawl-7', 'rows', { artifact: 0, rows: [[`https://example.com/page/${turn}`, 200 + (turn % 7 === 0 ? 304 : 0), turn * 13]] });
    if (turn % 3 === 0) publish('crawl-7', 'signal', { signal_type: 'page_read', signal_layer: 'selector', signal_source: 'crawler', timestamp: new Date().toISOString(), summary: `Page ${turn} read` });
  }, 1500).unref();
}

function page(list, query, key = 'index') {
  const limit = Math.min(Number(query.get('limit') ?? 50), 200);
  const before = query.get('before');
  const rest = before === null ? list : list.filter((one) => one[key] < Number(before));
  return { items: rest.slice(0, limit), next: rest.length > limit ? rest[limit - 1][key] : null };
}

async function answer(method, path, query, body) {
  if (path === '/api/session' && method === 'POST') {
    const token = JSON.parse(body).token;
    if (token === 'used' || (token === 'launch' && isTokenUsed && process.env.MOCK_ONCE === '1')) return problem(401, 'LAUNCH_TOKEN_USED', 'this launch link was used before', { solution: 'Print a new link.' });
    if (token !== 'launch') return problem(401, 'UNAUTHENTICATED', 'no such token');
    isOpen = true;
    isTokenUsed = true;
    return { status: 201, body: session };
  }
  if (!isOpen) return problem(401, 'UNAUTHENTICATED', 'this browser has no session', { solution: 'Open the launch link.' });
  if (path === '/api/session') {
    if (method === 'DELETE') {
      isOpen = false;
      return { status: 204 };
    }
    return { status: 200, body: session };
  }
  if (path === '/api/sessions') return { status: 200, body: { sessions: data.sessions } };
  if (path.startsWith('/api/sessions/')) {
    data.sessions = data.sessions.filter((one) => !path.endsWith(one.id));
    return { status: 204 };
  }
  if (path === '/api/overview') return { status: 200, body: { ...level(), replies: data.replies.length, streams_open: 1 } };
  let match;
  if (path === '/api/replies') {
    const wanted = data.replies.filter((one) => ['kind', 'outcome', 'tool', 'agent'].every((name) => !query.get(name) || one.reply[name] === query.get(name)) && (!query.get('text') || one.reply.summary.toLowerCase().includes(query.get('text').toLowerCase())));
    const { items, next } = page(wanted.map((one) => one.reply), query);
    return { status: 200, body: { replies: items, next, size: data.entries.length } };
  }
  if ((match = /^\/api\/replies\/([^/]+)(\/proof)?$/.exec(path))) {
    const found = data.replies.find((one) => one.reply.id === match[1] || String(one.reply.index) === match[1]);
    if (!found) return problem(404, 'NOT_FOUND', `no reply is called ${match[1]}`, { field: 'id', received: { id: match[1] }, solution: 'Look in the list of replies; it may have been pruned.' });
    if (match[2]) return { status: 200, body: data.proof(found.reply.index, found.proofState) };
    const contract = query.get('as');
    if (contract === 'governed') return problem(422, 'NOT_CONVERTIBLE', 'a governed response needs an attestation', { solution: 'Ask for ui, atdf or tool.' });
    if (contract) return { status: 200, body: { document: found.document, losses: ['ui_hints'] } };
    return { status: 200, body: found };
  }
  if ((match = /^\/api\/replies\/([^/]+)\/artifacts\/(\d+)\/file\/state$/.exec(path))) return { status: 200, body: { state: 'available', size: 40, sha256: 'ab'.repeat(32), media_type: 'text/csv', preview: 'csv', solution: null } };
  if (/^\/api\/replies\/([^/]+)\/artifacts\/(\d+)\/file$/.test(path)) return { status: 200, text: 'quote,author\r\n"To be",Shakespeare\r\n', type: 'application/octet-stream' };
  if (path === '/api/cases') {
    const status = query.get('status') ?? 'waiting';
    const cases = data.cases.filter((one) => status === 'all' || (status === 'decided' ? one.case.state.status === 'decided' : status === 'lapsed' ? one.is_expired : one.case.state.status !== 'decided' && !one.is_expired));
    return { status: 200, body: { cases, next: null } };
  }
  if ((match = /^\/api\/cases\/([^/]+)(\/decision)?$/.exec(path))) {
    const found = data.cases.find((one) => one.case.id === match[1]);
    if (!found) return problem(404, 'NOT_FOUND', 'no such case');
    if (method === 'POST') {
      const { digest, revision, ...decision } = JSON.parse(body);
      if (found.case.state.status === 'decided') return problem(409, 'ALREADY_DECIDED', 'this case is decided', { received: { winning: found.case.state.submission, at: found.case.state.at } });
      if (found.isContested) {
        found.case.state = { status: 'decided', at: new Date().toISOString(), submission: { decision: 'reject', reason: 'not today', digest, revision, by: 'grace' } };
        return problem(409, 'ALREADY_DECIDED', 'this case is decided', { received: { winning: found.case.state.submission, at: found.case.state.at } });
      }
      if (digest !== found.case.digest || revision !== found.case.revision) return problem(409, 'CASE_CHANGED', 'the case changed since it was shown', { solution: 'Look again.' });
      found.case.state = { status: decision.decision === 'defer' ? 'deferred' : 'decided', at: new Date().toISOString(), submission: { ...decision, digest, revision, by: 'console' } };
      if (decision.decision === 'defer') found.case.revision += 1;
      else
        setTimeout(() => {
          found.acknowledged = { at: new Date().toISOString(), by: 'crawler', outcome: 'done', note: null };
          broadcast(`event: ledger\ndata: ${JSON.stringify(level())}\n\n`);
        }, 3000);
      broadcast(`event: ledger\ndata: ${JSON.stringify(level())}\n\n`);
      return { status: 201, body: found };
    }
    return { status: 200, body: found };
  }
  if (path === '/api/streams') {
    const ids = [...new Set(data.events.map((one) => one.stream))].reverse();
    return { status: 200, body: { streams: ids.map(streamRow) } };
  }
  if ((match = /^\/api\/streams\/([^/]+)(\/events)?$/.exec(path))) {
    const id = decodeURIComponent(match[1]);
    const events = data.events.filter((one) => one.stream === id);
    if (events.length === 0) return problem(404, 'NOT_FOUND', `no stream is called ${id}`, { solution: 'Look in the list of streams.' });
    if (match[2]) {
      const after = Number(query.get('after') ?? 0);
      const list = events.filter((one) => one.seq > after).slice(0, Number(query.get('limit') ?? 500));
      return { status: 200, body: { events: list, gap: null, after: list.at(-1)?.seq ?? after } };
    }
    return { status: 200, body: { ...streamRow(id), envelope: data.folded(events), as_of_seq: events.at(-1).seq, warnings: [] } };
  }
  if (path === '/api/tools') return { status: 200, body: data.tools };
  if (path === '/api/calls/check') {
    const call = JSON.parse(body);
    const isGood = typeof call.arguments?.url === 'string';
    return {
      status: 200,
      body: {
        tool_call_id: call.id, tool: call.tool, valid: isGood, attempt: 1, max_attempts: 3, status: isGood ? 'ok' : 'retry',
        errors: isGood ? [] : [{ error_code: 'VAL-001', field_path: '/url', message: 'a required member is missing', severity: 'error', expected_value: 'string' }],
        repair: isGood ? null : { patch: [{ op: 'add', path: '/url', value: 'https://example.com/' }], arguments: { url: 'https://example.com/' }, confidence: 'guess' },
        result: isGood ? null : { role: 'tool', content: 'The call was not made. Correct this and call again:\n1. /url is missing; it must be a string.\nAttempt 1 of 3.', is_error: true },
      },
    };
  }
  if (path === '/api/agents') return { status: 200, body: data.agents };
  if (path === '/api/ledger') return { status: 200, body: data.ledger() };
  if (path === '/api/ledger/entries') {
    const wanted = [...data.entries].reverse().filter((one) => !query.get('kind') || one.kind === query.get('kind'));
    const { items, next } = page(wanted, query);
    return { status: 200, body: { entries: items, next, size: data.entries.length } };
  }
  if ((match = /^\/api\/ledger\/entries\/(\d+)(\/proof)?$/.exec(path))) {
    const found = data.entries[Number(match[1])];
    if (!found) return problem(404, 'NOT_FOUND', `the ledger has no entry ${match[1]}`);
    return { status: 200, body: match[2] ? data.proof(found.index, 'verified') : { ...found, parts: [{ name: 'received', bytes: 34, text: '{"response_type":"text"}' }, { name: 'sent', bytes: 9000, text: null }] } };
  }
  if (path === '/api/ledger/consistency') return { status: 200, body: { from: Number(query.get('from')), to: Number(query.get('to')), hashes: ['aa'.repeat(32), 'bb'.repeat(32)] } };
  if (path === '/api/ledger/verify') return { status: 200, body: data.verification };
  if (path === '/api/playground') {
    let document;
    try {
      document = JSON.parse(body);
    } catch {
      return { status: 200, body: { contract: null, valid: false, findings: [{ error_code: 'VAL-000', field_path: '', message: 'this is not JSON', severity: 'error' }], ui: null, losses: [], terminal: null, conversions: {} } };
    }
    const isUi = 'response_type' in document;
    return {
      status: 200,
      body: {
        contract: isUi ? 'ui' : null, valid: isUi && document.summary !== '', findings: document.summary === '' ? [{ error_code: 'VAL-003', field_path: '/summary', message: 'the summary is empty', severity: 'error', expected_value: 'text', actual_value: '' }] : [],
        ui: isUi ? document : null, losses: [], terminal: isUi ? `${document.summary}\n  table  Results (2 x 2)` : null,
        conversions: { atdf: { status: 'success', data: {} }, governed: { missing: 'an attestation of the agent' }, tool: { role: 'tool', content: document.summary ?? '' } },
      },
    };
  }
  if (path === '/api/examples') return { status: 200, body: { examples: data.examples } };
  return problem(404, 'NOT_FOUND', `there is no ${path}`);
}

function streamRow(id) {
  const events = data.events.filter((one) => one.stream === id);
  const last = events.at(-1);
  const isEnded = last?.kind === 'end';
  return { id, events: events.length, first: events[0]?.time ?? null, last: last?.time ?? null, last_kind: last?.kind ?? null, ended: isEnded, outcome: isEnded ? last.body.outcome : null };
}

/** Forwards a request to a real server with the headers of its own page. */
function handOn(upstream, request, response) {
  const to = new URL(request.url, upstream);
  const headers = { ...request.headers, host: to.host, ...(request.headers.origin ? { origin: to.origin } : {}) };
  const onward = ask(to, { method: request.method, headers }, (answered) => {
    response.writeHead(answered.statusCode, answered.headers);
    answered.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

createServer(async (request, response) => {
  const address = new URL(request.url, 'http://mock');
  const path = address.pathname;
  if (process.env.MOCK_UPSTREAM && path.startsWith('/api/')) {
    handOn(process.env.MOCK_UPSTREAM, request, response);
    return;
  }
  if (path === '/api/events') {
    if (!isOpen) {
      response.writeHead(401).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write('retry: 1000\n\n');
    response.write(`event: hello\ndata: ${JSON.stringify({ server: run, seq, floor: 0, size: data.entries.length })}\n\n`);
    response.write(`event: ledger\ndata: ${JSON.stringify(level())}\n\n`);
    const after = Number(request.headers['last-event-id'] ?? address.searchParams.get('after') ?? seq);
    for (const event of data.events.filter((one) => one.seq > after)) response.write(`event: live\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
    readers.add(response);
    request.on('close', () => readers.delete(response));
    return;
  }
  if (path.startsWith('/api/')) {
    let body = '';
    for await (const chunk of request) body += chunk;
    try {
      const result = await answer(request.method, path, address.searchParams, body);
      response.writeHead(result.status, { 'content-type': result.type ?? 'application/json', 'cache-control': 'no-store' });
      response.end(result.text ?? (result.body === undefined ? '' : JSON.stringify(result.body)));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
    return;
  }
  const file = path.startsWith('/assets/') ? normalize(path) : '/index.html';
  try {
    const bytes = await readFile(join(dist, file));
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-security-policy': CSP, 'x-content-type-options': 'nosniff' });
    response.end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/#t=launch`));
