// Measures the viewers against their performance limits in Chromium with the real policy: `node
// test/viewers/measure.mjs`.
import { readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const { address, close } = await serve();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const figures = [];
const note = (name, value, bound) => figures.push({ name, ms: Math.round(value), bound, ok: value < bound });
const median = (values) => [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)];

async function open(show) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${address}?show=${show}`);
  await page.waitForSelector('[data-ready]');
  return page;
}

// Measures the time from an action to the paint after `done` became true.
async function timed(page, action, done) {
  return page.evaluate(
    async ([act, check]) => {
      const isDone = new Function(`return ${check}`);
      const start = performance.now();
      new Function(act)();
      for (;;) {
        await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
        if (isDone()) return performance.now() - start;
        if (performance.now() - start > 10_000) return Number.NaN;
      }
    },
    [action, done],
  );
}

const paints = [];
for (let run = 0; run < 5; run += 1) {
  const page = await open('big-table');
  paints.push(await page.evaluate(() => window.firstPaint));
  await page.close();
}
note('table 50,000 × 10: first paint (median of 5)', median(paints), 300);

// The policy forbids `new Function`, so the measured actions run in a page without it.
const free = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
async function openFree(show) {
  const page = await free.newPage();
  await page.goto(`${address}?show=${show}`);
  await page.waitForSelector('[data-ready]');
  return page;
}

const DEBOUNCE = 80;
{
  const type = (text) => `const box = document.querySelector('.search input'); box.value = ${JSON.stringify(text)}; box.dispatchEvent(new Event('input', { bubbles: true }))`;
  const rows = "document.querySelector('.foot [role=status]').textContent";
  const page = await openFree('big-table');
  await page.waitForTimeout(1_000);
  note('table: first filter, a second after the paint (less the 80 ms debounce)', (await timed(page, type('bravo'), `${rows}.includes(' of ')`)) - DEBOUNCE, 100);
  await page.waitForTimeout(600);
  note('table: next filter', (await timed(page, type('name 77'), `${rows}.startsWith('111 of')`)) - DEBOUNCE, 100);
  note('table: filter cleared', (await timed(page, type(''), `!${rows}.includes(' of ')`)) - DEBOUNCE, 100);
  for (const [name, column] of [['id, numbers', 1], ['name, text', 2], ['amount, numbers', 4], ['time, dates', 6], ['text', 9]]) {
    note(`table: sort by ${name}`, await timed(page, `document.querySelector('th:nth-child(${column}) .sorter').click()`, `document.querySelector('th:nth-child(${column})').ariaSort === 'ascending'`), 300);
  }
  await page.evaluate(() => document.querySelector('.scroll').scrollTo(0, 900_000));
  await page.waitForTimeout(100);
  const seen = await page.evaluate(() => document.querySelectorAll('tbody tr:not(.spacer)').length);
  console.log('rows in the document while scrolled:', seen);
  await page.close();
}

{
  const times = [];
  for (let run = 0; run < 5; run += 1) {
    const page = await open('big-json');
    times.push(await page.evaluate(async () => {
      const start = performance.now();
      while (document.querySelector('[role=treeitem]') === null) await new Promise((next) => setTimeout(next, 2));
      return window.firstPaint + performance.now() - start;
    }));
    await page.close();
  }
  note('JSON 100,000 nodes: tree on the screen (median of 5)', median(times), 1_000);
  const page = await openFree('big-json');
  await page.waitForSelector('[role=treeitem]');
  note('JSON: expand all', await timed(page, "[...document.querySelectorAll('button')].find((button) => button.textContent.includes('Expand all')).click()", "document.querySelector('.canvas').offsetHeight > 2_000_000"), 1_000);
  note('JSON: search (with its 120 ms debounce)', await timed(page, "const box = document.querySelector('.search input'); box.value = 'item 16600'; box.dispatchEvent(new Event('input', { bubbles: true }))", "document.querySelector('.count')?.textContent.includes('1 of')"), 1_000);
  await page.close();
}

{
  const page = await open('big-timeline');
  note('timeline 10,000 events: first paint', await page.evaluate(() => window.firstPaint), 1_000);
  await page.close();
}

const axe = await readFile(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
let violations = 0;
for (const colorScheme of ['light', 'dark']) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, bypassCSP: true, colorScheme });
  for (const show of ['results', 'table', 'chart', 'document', 'code', 'diff', 'trojan', 'timeline', 'lanes', 'file', 'json', 'mission', 'signals', 'unknown', 'ragged', 'question', 'error', 'hostile', 'big-table']) {
    const page = await context.newPage();
    await page.goto(`${address}?show=${show}&theme=${colorScheme}`);
    await page.waitForSelector('[data-ready]');
    await page.waitForTimeout(500);
    await page.evaluate(axe);
    const result = await page.evaluate(() => globalThis.axe.run(document.getElementById('app'), { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
    for (const one of result.violations) {
      violations += 1;
      console.log(`axe ${show} ${colorScheme}: ${one.id} × ${one.nodes.length}: ${one.nodes[0].html.slice(0, 160)} | ${one.nodes[0].failureSummary?.split('\n')[1] ?? ''}`);
    }
    await page.close();
  }
  await context.close();
}
console.table(figures);
console.log(`axe violations: ${violations}`);
await browser.close();
close();
process.exitCode = figures.every((one) => one.ok) && violations === 0 ? 0 : 1;
