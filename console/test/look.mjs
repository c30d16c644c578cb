// Opens pages of a running console in Chromium: screenshots, axe, CSP violations and console errors. Development only.
// Usage: node test/look.mjs URL [page …]; the pictures go to $SHOTS (default /tmp/shots).
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const { readFile } = await import('node:fs/promises');
const axe = await readFile(axePath, 'utf8');
const [launch, ...pages] = process.argv.slice(2);
const base = new URL(launch);
const folder = process.env.SHOTS ?? '/tmp/shots';
const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 }, zoomed: { width: 320, height: 256 }, tablet: { width: 820, height: 1100 } };
await mkdir(folder, { recursive: true });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
let isFirst = true;
let state;
for (const theme of (process.env.THEMES ?? 'light,dark').split(',')) {
  for (const size of (process.env.SIZES ?? 'desk,phone').split(',')) {
    const context = await browser.newContext({ viewport: SIZES[size], colorScheme: theme, ...(state ? { storageState: state } : {}) });
    const page = await context.newPage();
    const wrong = [];
    page.on('console', (message) => (message.type() === 'error' || message.type() === 'warning') && wrong.push(message.text()));
    page.on('pageerror', (error) => wrong.push(String(error)));
    await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`CSP ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`)));
    if (isFirst) {
      await page.goto(launch);
      await page.waitForSelector('nav', { timeout: 10_000 });
      state = await context.storageState();
      isFirst = false;
    }
    for (const wanted of pages) {
      // `/inbox/1>m>Cancel` presses a key or clicks the element with that text after the page has loaded.
      const [path, ...acts] = wanted.split('>');
      await page.goto(new URL(path, base.origin).href);
      await page.waitForTimeout(Number(process.env.WAIT ?? 900));
      for (const act of acts) {
        if (act.length === 1) await page.keyboard.press(act);
        else await page.getByRole('button', { name: act }).first().click();
        await page.waitForTimeout(500);
      }
      const name = `${wanted.replace(/[^a-z0-9]+/gi, '_').replace(/^_/, '') || 'root'}-${size}-${theme}`;
      await page.screenshot({ path: `${folder}/${name}.png`, fullPage: process.env.FULL === '1' });
      await page.evaluate(axe);
      const result = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
      const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      const found = result.violations.map((one) => `${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? node.all[0]?.message ?? ''}`).join(' | ')}`);
      console.log(`${name}: axe ${found.length}${width > 1 ? `, ${width}px too wide` : ''}`);
      for (const line of [...found, ...wrong.splice(0)]) console.log(`    ${line}`);
    }
    await context.close();
  }
}
await browser.close();
