// Pictures of every viewer in light and dark: `node test/viewers/look.mjs [folder] [name…]`.
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const folder = process.argv[2] ?? '/tmp/viewers';
const only = process.argv.slice(3);
const names = ['results', 'table', 'chart', 'bar', 'pie', 'scatter', 'bad-chart', 'side-by-side', 'line-points', 'document', 'code', 'diff', 'trojan', 'timeline', 'lanes', 'file', 'json', 'mission', 'signals', 'unknown', 'ragged', 'question', 'error', 'hostile'];
await mkdir(folder, { recursive: true });
const { address, close } = await serve();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
let bad = 0;
for (const theme of ['light', 'dark']) {
  for (const name of only.length > 0 ? only : names) {
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, colorScheme: theme });
    const errors = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.goto(`${address}?show=${name}&theme=${theme}`);
    await page.waitForSelector('[data-ready]');
    await page.waitForTimeout(700);
    const violations = await page.evaluate(() => window.violations);
    if (errors.length + violations.length > 0) {
      bad += 1;
      console.error(name, theme, [...errors, ...violations].slice(0, 5));
    }
    await page.screenshot({ path: `${folder}/${name}-${theme}.png`, fullPage: true });
    await page.close();
  }
}
await browser.close();
close();
console.log(`${bad} with errors`);
process.exitCode = bad > 0 ? 1 : 0;
