// Helpers to run the real binary and a real Chromium. They stop only processes that they started.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const HERE = dirname(fileURLToPath(import.meta.url));
const PROGRAM = resolve(process.env.ANSWERBACK ?? join(HERE, '../../../target/debug/answerback'));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Multiplies all time limits on a slow or busy machine. */
const SLOWNESS = Number(process.env.SLOWNESS ?? 1);
/** The default time limit of a test. */
export const LIMIT = 90_000 * SLOWNESS;
/** The time limit for content to appear on a page. */
export const PATIENCE = 15_000 * SLOWNESS;

/** Polls until the result is not false, null or undefined, and returns it. */
export async function until(what, ask, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== null && answer !== undefined) return answer;
    if (Date.now() > end) throw new Error(`waited ${patience} ms in vain: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Runs the binary to its end and returns exit code, stdout and stderr. */
export async function answerback(args, options = {}) {
  try {
    const { stdout, stderr } = await promisify(execFile)(PROGRAM, args, { maxBuffer: 1 << 28, timeout: 60_000, ...options });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return { code: error.code, stdout: error.stdout ?? '', stderr: error.stderr ?? String(error) };
  }
}

/** Creates a folder that is deleted when the test process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'answerback-e2e-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An `answerback serve` process with its own state. */
export class Server {
  #child = null;
  #said = '';
  #folder;
  #isDemo;
  url = '';
  store = '';

  /** Starts a server: the demo, or an empty ledger in a temporary folder. */
  static async start({ isDemo = false } = {}) {
    const server = new Server(isDemo);
    await server.#run('127.0.0.1:0');
    return server;
  }

  constructor(isDemo) {
    this.#isDemo = isDemo;
    this.#folder = temporaryFolder();
    this.store = join(this.#folder, 'ledger.db');
  }

  async #run(listen) {
    assert.ok(existsSync(PROGRAM), `${PROGRAM} is not there; build it or name it in $ANSWERBACK`);
    this.#said = '';
    const what = this.#isDemo ? ['--demo'] : ['--store', this.store];
    const child = spawn(PROGRAM, ['serve', ...what, '--listen', listen], { env: this.environment, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    child.stderr.on('data', (piece) => (this.#said += piece));
    // Stops the server when the test process ends early.
    process.on('exit', () => child.kill('SIGKILL'));
    const said = (pattern) => pattern.exec(this.#said)?.[1];
    await until(`the server starts\n${this.#said}`, () => {
      assert.ok(child.exitCode === null, `the server ended: ${this.#said}`);
      return said(/^console\s+(.*)\n/m);
    });
    this.url = said(/^endpoint\s+(\S+)\/mcp$/m);
    const token = said(/^token\s+(.*)$/m);
    this.token = await until('the token file', () => existsSync(token) && readFileSync(token, 'utf8').trim());
    if (this.#isDemo) this.store = join(dirname(token), 'ledger.db');
  }

  get environment() {
    const { PATH, LANG, TMPDIR } = process.env;
    const folder = this.#folder;
    return { PATH, ...(LANG ? { LANG } : {}), ...(TMPDIR ? { TMPDIR } : {}), HOME: folder, XDG_DATA_HOME: join(folder, 'data'), XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
  }

  get said() {
    return this.#said;
  }

  /** Kills the process, as a power failure would. */
  async crash() {
    await this.#end('SIGKILL');
  }

  async stop() {
    await this.#end('SIGTERM');
  }

  async #end(signal) {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await gone;
    clearTimeout(late);
  }

  /** Restarts the server with the same state and port. */
  async restart() {
    await this.#run(new URL(this.url).host);
  }

  /** Creates a new launch link. */
  async link() {
    const { code, stdout, stderr } = await answerback(['link', '--store', this.store], { env: this.environment });
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  /** Sends a request as an agent and returns the parsed response. Fails on an unexpected status. */
  async ask(method, path, body, { status } = {}) {
    const headers = { authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const answer = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body) });
    const text = await answer.text();
    const isWanted = status === undefined ? answer.ok : answer.status === status;
    assert.ok(isWanted, `${method} ${path}: ${answer.status} ${text.slice(0, 600)}`);
    return text === '' || !answer.headers.get('content-type')?.includes('json') ? text : JSON.parse(text);
  }

  get(path, options) {
    return this.ask('GET', path, undefined, options);
  }

  post(path, body, options) {
    return this.ask('POST', path, body, options);
  }

  /** Reads how many requests of a route the server has counted. */
  async requests(route) {
    const text = await this.get('/metrics');
    let count = 0;
    for (const line of text.split('\n')) {
      if (line.startsWith('answerback_http_requests_total{') && line.includes(`route="${route}"`)) count += Number(line.split(' ').at(-1));
    }
    return count;
  }
}

let chrome = null;

/** The shared browser of a test file. */
async function theBrowser() {
  chrome ??= await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  return chrome;
}

export async function closeBrowser() {
  await chrome?.close();
  chrome = null;
}

/** Runs in every page before the page's own code. */
function watchPage() {
  addEventListener('securitypolicyviolation', (event) => console.error(`CSP violation: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
}

/** A browser context with its own cookies that records errors and violations. */
class Visit {
  #allowed = [];
  wrong = [];
  /** Every requested address. */
  requests = [];

  constructor(server, context) {
    this.server = server;
    this.context = context;
    context.on('page', (page) => this.#watch(page));
    context.on('request', (request) => this.requests.push(request.url()));
  }

  #watch(page) {
    page.setDefaultTimeout(PATIENCE);
    // Page loads are not what is tested, and they are the slowest step on a busy machine.
    page.setDefaultNavigationTimeout(3 * PATIENCE);
    page.on('console', (message) => message.type() === 'error' && this.wrong.push(`${message.text()} (${message.location().url})`));
    page.on('pageerror', (error) => this.wrong.push(`page error: ${error.stack ?? error.message}`));
    page.on('crash', () => this.wrong.push('the page crashed'));
  }

  /** Marks errors that match as expected. */
  allow(pattern) {
    this.#allowed.push(pattern);
  }

  async tab(path) {
    const page = await this.context.newPage();
    if (path !== undefined) await page.goto(this.server.url + path);
    return page;
  }

  /** Opens a page of the console. */
  async open(path) {
    await this.page.goto(this.server.url + path);
    await settled(this.page);
  }

  check() {
    const wrong = this.wrong.filter((text) => !this.#allowed.some((pattern) => pattern.test(text)));
    assert.deepEqual(wrong, [], 'violations of the policy, console errors and page errors');
  }
}

/**
 * Waits until nothing loads or moves. A page that has not started to load looks the same, so wait for its text first.
 */
export async function settled(page) {
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
  await page.evaluate(async () => {
    await document.fonts.ready;
    const finite = document.getAnimations().filter((one) => Number.isFinite(Number(one.effect?.getComputedTiming().endTime ?? 0)));
    await Promise.all(finite.map((one) => one.finished.catch(() => {})));
  });
}

/**
 * Opens a browser on a server, runs the steps, and fails on any error that the page reported. `isLocked` starts
 * without a session. Other options go to Playwright's context.
 */
export async function visit(server, options, steps) {
  const { isLocked = false, ...contextOptions } = options;
  const context = await (await theBrowser()).newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...contextOptions });
  await context.addInitScript(watchPage);
  const one = new Visit(server, context);
  try {
    one.page = await one.tab();
    if (!isLocked) {
      await one.page.goto(await server.link());
      await one.page.locator('nav[aria-label="Main"]').waitFor();
    }
    await steps(one);
    one.check();
  } catch (error) {
    // The page's content explains a failure better than the timeout message.
    const picture = join(tmpdir(), `answerback-e2e-failure-${Date.now()}.png`);
    await one.page?.screenshot({ path: picture, timeout: 3_000 }).then(
      () => (error.message += `\n  page ${one.page.url()}, picture ${picture}${one.wrong.length > 0 ? `\n  it said: ${one.wrong.slice(0, 5).join('\n  ')}` : ''}`),
      () => {},
    );
    throw error;
  } finally {
    await context.close();
  }
}

/** Lists axe violations on the current page, one per line. */
export async function axe(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const violations = await page.evaluate(async (tags) => (await globalThis.axe.run(document, { runOnly: tags })).violations.map((one) => ({ id: one.id, nodes: one.nodes.slice(0, 4).map((node) => `${node.target.join(' ')} ${[...node.any, ...node.all, ...node.none].map((check) => check.message).join('; ')}`) })), WCAG);
  return violations.map((one) => `${one.id}: ${one.nodes.join(' | ')}`);
}

/** Checks that axe finds no violation in light and dark mode. */
export async function accessible(page, where = page.url()) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    assert.deepEqual(await axe(page), [], `axe in ${colorScheme} on ${where}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Measures how many pixels the page is wider than its window. */
export async function excessWidth(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Clicks and returns the name and text of the downloaded file. */
export async function downloaded(page, click) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

/** Wraps artifacts in a complete UI envelope. */
export function envelope(artifacts, members = {}) {
  return { response_type: 'artifact_bundle', summary: 'A test reply.', artifacts, missions_spawned: [], signals_emitted: [], live_stream_id: null, ui_hints: null, metadata: {}, timestamp: '2026-03-04T05:06:07+00:00', ...members };
}

export function table(title, columns, rows) {
  return { artifact_type: 'table', title, content: { columns, rows, row_count: rows.length, column_count: columns.length }, metadata: {} };
}
