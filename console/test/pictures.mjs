// Pictures for the documentation, of the demo as a newcomer sees it.
// Usage: ANSWERBACK=path/to/answerback node test/pictures.mjs FOLDER
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const folder = resolve(process.argv[2] ?? '.');
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

const server = spawn(process.env.ANSWERBACK ?? 'answerback', ['serve', '--demo'], { stdio: ['ignore', 'ignore', 'pipe'] });
const lines = createInterface({ input: server.stderr });
const link = await new Promise((found) => lines.on('line', (line) => {
  const match = /^console\s+(http\S+)/.exec(line);
  if (match) found(new URL(match[1]));
}));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
  await page.goto(link.href);
  const api = (path) => page.evaluate(async (path) => (await fetch(path)).json(), path);
  // The demo has finished its startup when its proposal exists.
  let proposal;
  for (let tries = 0; !proposal && tries < 300; tries += 1) {
    proposal = (await api('/api/cases')).cases?.find((each) => each.case.kind === 'proposal');
    await page.waitForTimeout(200);
  }
  const shoot = async (name, path, ready) => {
    await page.goto(new URL(path, link.origin).href);
    await page.getByText(ready).first().waitFor();
    await page.waitForTimeout(800);
    await page.screenshot({ path: resolve(folder, `console-${name}.png`) });
  };
  await shoot('inbox', `/inbox/${proposal.case.id}`, 'berth_change');
  const replies = (await api('/api/replies?limit=100')).replies;
  const bundle = replies.find((reply) => reply.summary.startsWith('The morning in one reply'));
  await shoot('reply', `/r/${bundle.index}`, 'Arrivals this week');
  await page.waitForTimeout(9000);
  await shoot('live', '/live/berth-watch', 'Watching nine berths');
} finally {
  await browser.close();
  server.kill();
  await once(server, 'exit');
}
