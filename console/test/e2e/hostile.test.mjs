// Tests hostile replies through the API, the browser and the terminal. The corpus is in ../hostile.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answerback, axe, closeBrowser, downloaded, envelope, LIMIT, Server, settled, table, temporaryFolder, visit } from './harness.mjs';

const CORPUS = join(dirname(fileURLToPath(import.meta.url)), '../hostile');
const FILES = readdirSync(CORPUS).filter((name) => name.endsWith('.json'));
const SCRIPT = '<script>window.hacked=1</script>';

let server;

before(async () => {
  server = await Server.start();
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

/** Submits a document, which is accepted, recorded as rejected, or refused with an error that says what to do. */
async function handIn(text) {
  const answer = await fetch(`${server.url}/api/replies?profile=lenient`, { method: 'POST', headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }, body: text });
  const body = await answer.json();
  if (answer.ok) return { place: body.id ?? String(body.index), isRejected: body.kind === 'rejected' };
  assert.ok([400, 413, 422].includes(answer.status), `${answer.status} ${JSON.stringify(body).slice(0, 300)}`);
  assert.equal(body.status, 'error');
  assert.ok(body.data.details.solution, 'a refusal says what to do');
  return null;
}

/** Checks that no part of the document became anything but text. */
async function isHarmless(one) {
  const found = await one.page.evaluate(() => {
    const wrong = [];
    if ('hacked' in window || 'hacked' in {}) wrong.push('a script ran');
    const main = document.querySelector('main');
    for (const element of document.querySelectorAll('script')) if (!element.src.startsWith(`${location.origin}/assets/`)) wrong.push(`script ${element.outerHTML.slice(0, 100)}`);
    for (const element of main.querySelectorAll('script, iframe, frame, object, embed, img, video, audio, source, base, meta, link, style, form[action], foreignObject, image, animate, use')) wrong.push(element.outerHTML.slice(0, 160));
    for (const element of main.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (name.startsWith('on')) wrong.push(`${name} of ${element.outerHTML.slice(0, 120)}`);
        if (name === 'style' && /url\(|expression/i.test(value)) wrong.push(`style ${value}`);
        if (['href', 'src', 'srcset', 'action', 'formaction', 'data', 'poster', 'background', 'xlink:href'].includes(name)) {
          const address = new URL(value, location.href);
          if (!['http:', 'https:', 'blob:'].includes(address.protocol)) wrong.push(`${name}=${value.slice(0, 120)}`);
          if (address.origin !== location.origin && !/\bnoopener\b/.test(element.getAttribute('rel') ?? '')) wrong.push(`${name}=${value.slice(0, 120)} without noopener`);
        }
      }
    }
    return wrong;
  });
  assert.deepEqual(found, [], one.page.url());
  const outside = one.requests.filter((address) => !address.startsWith(`${server.url}/`) && !address.startsWith(`blob:${server.url}/`));
  assert.deepEqual(outside, [], 'requests to elsewhere');
}

/** Checks that the page still works by opening another one. */
async function isUsable(page) {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
}

/** Parses the cells of CSV text, without their quotes. */
function cellsOf(text) {
  return [...text.replace(/^\ufeff/, '').matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)].map((match) => (match[1] ?? match[2] ?? '').replaceAll('""', '"'));
}

function areNoFormulas(cells) {
  for (const cell of cells) if (!/^-?\d+$/.test(cell)) assert.doesNotMatch(cell, /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/, `a cell that a spreadsheet runs: ${JSON.stringify(cell)}`);
}

describe('hostile replies', () => {
  for (const name of FILES) {
    test(`${name} in the browser`, { timeout: 2 * LIMIT }, async () => {
      const text = readFileSync(join(CORPUS, name), 'utf8');
      const taken = await handIn(text);
      await visit(server, {}, async (one) => {
        const { page } = one;
        // The state of a file whose path is not text.
        one.allow(/status of 404.*\/file\/state/);
        page.on('dialog', (dialog) => one.wrong.push(`dialog ${dialog.message()}`));
        if (taken !== null) {
          await one.open('/replies');
          await page.locator('main [data-row]').first().waitFor();
          await isHarmless(one);
          for (const tab of ['view', 'findings', 'parts', 'proof', 'json']) {
            await one.open(`/r/${taken.place}?tab=${tab}`);
            await page.getByRole('tab', { selected: true }).first().waitFor();
            await settled(page);
            if (tab === 'view') await page.locator('main article, main [role="tree"], main .problem, main .prose, main p').first().waitFor();
            await isHarmless(one);
            if (tab === 'view') assert.deepEqual(await axe(page), [], `axe on ${name}`);
          }
          await one.open(`/r/${taken.place}`);
          await page.getByRole('tab', { selected: true }).first().waitFor();
          await settled(page);
          // Every view of every artifact.
          const articles = page.locator('main article');
          for (let position = 0; position < (await articles.count()); position += 1) {
            for (const way of ['Data', 'JSON', 'Provenance', 'View']) {
              const tab = articles.nth(position).getByRole('tab', { name: way, exact: true });
              if ((await tab.count()) > 0) await tab.click();
            }
          }
          await isHarmless(one);
        }
        // The playground accepts documents that the API rejects.
        await one.open('/playground');
        await page.getByLabel('Profile').selectOption('lenient');
        const answered = page.waitForResponse((response) => response.url().includes('/api/playground') && (response.request().postData() ?? '') === text);
        await page.getByLabel('Document as JSON').fill(text);
        await answered;
        for (const tab of ['Terminal', 'Findings', 'Conversions', 'Rendered']) {
          await page.getByRole('tab', { name: new RegExp(`^${tab}`) }).first().click();
          await settled(page);
          await isHarmless(one);
        }
        one.allow(/status of (400|413|422)/);
        await isUsable(page);
      });
    });

    test(`${name} in the terminal`, { timeout: LIMIT }, async () => {
      for (const extra of [[], ['--all', '--width', '200'], ['--ascii']]) {
        const { code, stdout, stderr } = await answerback(['show', ...extra, join(CORPUS, name)], { env: { ...server.environment, NO_COLOR: '1' } });
        assert.ok(code === 0 || code === 2, `exit code ${code}: ${stderr}`);
        assert.ok(code === 0 ? stdout.length > 0 : stderr.length > 0);
        for (const output of [stdout, stderr]) {
          // C0 controls (except line feed and tab), C1 controls, and characters that reverse or hide text.
          const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(output);
          assert.equal(control, null, control && `U+${control[0].codePointAt(0).toString(16)} near ${JSON.stringify(output.slice(Math.max(0, control.index - 40), control.index + 40))}`);
        }
      }
    });
  }

  test('formulas are neutralised in an export', { timeout: LIMIT }, async () => {
    const taken = await handIn(readFileSync(join(CORPUS, 'formulas.json'), 'utf8'));
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${taken.place}`);
      await page.getByRole('button', { name: 'Export' }).click();
      const { name, text } = await downloaded(page, () => page.getByRole('button', { name: /^CSV, all/ }).click());
      assert.match(name, /^[\w .-]+\.csv$/);
      const cells = cellsOf(text);
      assert.ok(cells.length >= 28, `cells of ${JSON.stringify(text)}`);
      areNoFormulas(cells);
      assert.ok(cells.includes("'=1+1"), 'the words are still there');
      assert.ok(cells.includes('-5'), 'a number stays a number');
      // The card's menu exports the same data.
      await page.getByRole('button', { name: /^More about/ }).first().click();
      const other = await downloaded(page, () => page.getByRole('button', { name: 'Download .csv' }).click());
      areNoFormulas(cellsOf(other.text));
      assert.ok(other.text.includes("'=1+1"));
    });
  });

  test('a cell of 10 MB', { timeout: 2 * LIMIT }, async () => {
    const taken = await handIn(JSON.stringify(envelope([table('Large', ['large', 'small'], [[`${SCRIPT}${'x'.repeat(10 << 20)}`, 'beside it'], ['ordinary', 'the next row']])])));
    assert.notEqual(taken, null);
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${taken.place}`);
      await page.getByText('the next row').waitFor({ timeout: 30_000 });
      await isHarmless(one);
      assert.ok((await page.locator('main').innerText()).length < 100_000, 'not all of it is in the page');
      for (const way of ['Data', 'JSON', 'View']) await page.locator('article').getByRole('tab', { name: way, exact: true }).click();
      await page.locator('td', { hasText: 'the next row' }).dblclick();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await isHarmless(one);
      await isUsable(page);
    });
    const file = join(temporaryFolder(), 'large.json');
    writeFileSync(file, JSON.stringify(envelope([table('Large', ['large'], [[`\u001b[31m${'x'.repeat(10 << 20)}`]])])));
    const { code, stdout } = await answerback(['show', file], { env: { ...server.environment, NO_COLOR: '1' } });
    assert.equal(code, 0);
    assert.ok(!stdout.includes('\u001b') && stdout.includes('Large'));
  });

  test('JSON of 100,000 nodes', { timeout: 2 * LIMIT }, async (t) => {
    const nodes = Array.from({ length: 20_000 }, (_, number) => ({ number, text: SCRIPT, more: [number, null] }));
    const taken = await handIn(JSON.stringify(envelope([{ artifact_type: 'json_data', title: 'Many nodes', content: { nodes }, metadata: {} }])));
    assert.notEqual(taken, null);
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${taken.place}`);
      const tree = page.getByRole('tree').first();
      await tree.waitFor({ timeout: 30_000 });
      await isHarmless(one);
      const start = Date.now();
      await page.getByRole('button', { name: 'Expand all' }).first().click();
      await page.getByRole('treeitem').filter({ hasText: SCRIPT }).first().waitFor();
      t.diagnostic(`expanded in ${Date.now() - start} ms`);
      assert.ok((await page.getByRole('treeitem').count()) < 2_000, 'only what is in sight is in the page');
      await isHarmless(one);
      await isUsable(page);
    });
  });
});
