// Tests that everything works by keyboard with a visible focus, and downloads.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, closeBrowser, downloaded, envelope, LIMIT, Server, settled, table, until, visit } from './harness.mjs';

let server;
let reply;

before(async () => {
  server = await Server.start();
  reply = await server.post('/api/replies', envelope([table('Ships in port', ['ship', 'tons'], [['Aurora', 4100], ['Borealis', 12345678901]]), table('Second', ['a'], [[1]])], { summary: 'Two ships are in port.' }));
  await server.post('/api/replies', envelope([], { response_type: 'text', summary: 'Nothing else happened.' }));
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

/** Checks that the focused element is in the viewport, on top, and has a focus outline. */
async function focusIsVisible(page, where) {
  const wrong = await page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return null;
    // Headings focused by scripts need no outline; interactive elements do.
    if (element.tabIndex < 0) return null;
    const style = getComputedStyle(element);
    const around = element.closest('label, .search, .field');
    const isDrawn = (one) => one !== null && (parseFloat(getComputedStyle(one).outlineWidth) > 0 && getComputedStyle(one).outlineStyle !== 'none' || getComputedStyle(one).boxShadow !== 'none');
    const box = element.getBoundingClientRect();
    const name = element.outerHTML.slice(0, 140);
    if (style.visibility === 'hidden' || box.width === 0 || box.height === 0) return `not visible: ${name}`;
    if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) return `outside of the window: ${name}`;
    if (!isDrawn(element) && !isDrawn(around)) return `without an outline: ${name}`;
    return null;
  });
  assert.equal(wrong, null, where);
}

const focused = (page) => page.evaluate(() => (document.activeElement?.textContent ?? '').trim());

describe('keyboard', () => {
  test('skip link, places, a case approved with a key and a confirmation', { timeout: LIMIT }, async () => {
    const first = await server.post('/api/cases', { kind: 'proposal', title: 'First proposal', objective_type: 'x', description: 'One.', arguments: { berth: 1 }, expires_in_seconds: 600 });
    const second = await server.post('/api/cases', { kind: 'proposal', title: 'Second proposal', objective_type: 'x', description: 'Two.', arguments: { berth: 2 }, expires_in_seconds: 900 });
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/replies');
      await page.getByText('Two ships are in port.').waitFor();
      await page.keyboard.press('Tab');
      assert.equal(await focused(page), 'Skip to the content');
      await focusIsVisible(page, 'the skip link');
      await page.keyboard.press('Enter');
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');

      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Go to the inbox').waitFor();
      // Shortcuts are inactive behind the overlay.
      await page.keyboard.press('g');
      await page.keyboard.press('s');
      assert.equal(new URL(page.url()).pathname, '/replies');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });

      await page.keyboard.press('g');
      await page.keyboard.press('i');
      await page.waitForURL('**/inbox');
      await page.getByRole('link', { name: /First proposal/ }).waitFor();
      const isAt = (words) => until(`the focus is at ${words}`, async () => (await focused(page)).includes(words));
      await page.keyboard.press('j');
      await isAt('First proposal');
      await focusIsVisible(page, 'the first row');
      await page.keyboard.press('j');
      await isAt('Second proposal');
      await page.keyboard.press('k');
      await isAt('First proposal');
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/inbox/${second.case.id}`);
      await page.getByRole('heading', { name: 'Second proposal' }).waitFor();

      // A single key never decides.
      await page.keyboard.press('a');
      await page.getByRole('button', { name: 'Yes, approve' }).waitFor();
      await until('the confirmation has the focus', async () => (await focused(page)) === 'Yes, approve');
      await focusIsVisible(page, 'the confirmation');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Yes, approve' }).waitFor({ state: 'detached' });
      assert.equal((await server.get(`/api/cases/${second.case.id}`)).case.state.status, 'open');
      await page.keyboard.press('a');
      await until('the confirmation has the focus', async () => (await focused(page)) === 'Yes, approve');
      await page.keyboard.press('Enter');
      await page.locator('article.card').getByText('Approved').waitFor();
      assert.equal((await server.get(`/api/cases/${second.case.id}`)).case.state.submission.decision, 'approve');
      // The focus moved to the next case, which is opened and rejected with a message.
      await until('the next case has the focus', async () => (await focused(page)).startsWith('Next waiting case'));
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/inbox/${first.case.id}`);
      await page.getByRole('heading', { name: 'First proposal' }).waitFor();
      await page.keyboard.press('r');
      await page.getByLabel(/^Reason/).waitFor();
      await page.keyboard.type('gri am not sure');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('article.card').getByText('gri am not sure').waitFor();
      assert.equal((await server.get(`/api/cases/${first.case.id}`)).case.state.submission.decision, 'reject');
      await page.keyboard.press('Escape');
      await page.waitForURL('**/inbox');
    });
  });

  test('filter, open a reply, its tabs, its artifacts, and back', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/inbox');
      await page.keyboard.press('g');
      await page.keyboard.press('r');
      await page.waitForURL('**/replies');
      await page.getByText('Nothing else happened.').waitFor();
      await page.keyboard.press('/');
      await until('the filter has the focus', () => page.evaluate(() => document.activeElement?.id === 'filter-text'));
      await focusIsVisible(page, 'the filter');
      await page.keyboard.type('ships');
      await page.waitForURL('**/replies?text=ships');
      await page.getByText('Nothing else happened.').waitFor({ state: 'detached' });
      await page.getByText('Two ships are in port.').waitFor();
      // Return to the list without the mouse.
      for (let press = 0; press < 20 && !(await focused(page)).includes('Two ships are in port.'); press += 1) {
        await page.keyboard.press('Tab');
        await focusIsVisible(page, 'the way from the filter to the list');
      }
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/r/${reply.id}`);
      await page.getByRole('heading', { level: 1, name: 'Two ships are in port.' }).waitFor();
      await page.getByText('Borealis').first().waitFor();

      await page.getByRole('tab', { name: 'View' }).first().focus();
      for (const [key, name] of [['ArrowRight', 'Findings'], ['End', 'JSON'], ['ArrowLeft', 'Provenance'], ['Home', 'View']]) {
        await page.keyboard.press(key);
        await page.getByRole('tab', { name: new RegExp(`^${name}`), selected: true }).first().waitFor();
        assert.match(await focused(page), new RegExp(`^${name}`));
        await focusIsVisible(page, `the tab ${name}`);
      }
      await settled(page);
      // Every tab stop of the page is visible, and the tab order ends.
      await page.evaluate(() => document.querySelector('main').focus());
      const seen = [];
      for (let press = 0; press < 80; press += 1) {
        await page.keyboard.press('Tab');
        const isInside = await page.evaluate(() => document.activeElement?.closest('main') !== null && document.activeElement !== document.body);
        if (!isInside) break;
        await focusIsVisible(page, `stop ${press} of the reply`);
        seen.push(await focused(page));
      }
      assert.ok(seen.length > 10 && seen.length < 80, `${seen.length} stops`);

      await page.goto(`${server.url}/r/${reply.id}/a/0`);
      await page.getByRole('heading', { level: 1, name: 'Ships in port' }).waitFor();
      await page.keyboard.press(']');
      await page.waitForURL(`**/r/${reply.id}/a/1`);
      await page.getByRole('heading', { level: 1, name: 'Second' }).waitFor();
      await page.keyboard.press('[');
      await page.waitForURL(`**/r/${reply.id}/a/0`);
      await page.getByRole('heading', { level: 1, name: 'Ships in port' }).waitFor();
      await page.keyboard.press('Escape');
      await page.waitForURL(`**/r/${reply.id}`);
    });
  });

  test('a table with arrows, its cell opened and closed', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${reply.id}/a/0`);
      await page.locator('td[tabindex="0"]').first().focus();
      assert.equal(await focused(page), 'Aurora');
      for (const [key, words] of [['ArrowDown', 'Borealis'], ['ArrowRight', /^12.?345.?678.?901$/], ['Home', 'Borealis'], ['ArrowUp', 'Aurora']]) {
        await page.keyboard.press(key);
        await until(`the focus is at ${words}`, async () => (typeof words === 'string' ? (await focused(page)) === words : words.test(await focused(page))));
        await focusIsVisible(page, `a cell, after ${key}`);
      }
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await accessible(page, 'an opened cell');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await until('the focus is back at the cell', async () => (await focused(page)) === 'Aurora');
    });
  });

  test('shortcuts can be switched off', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/settings');
      await page.getByRole('checkbox', { name: /Single-key shortcuts/ }).focus();
      await page.keyboard.press('Space');
      assert.ok(!(await page.getByRole('checkbox', { name: /Single-key shortcuts/ }).isChecked()));
      await page.locator('main').focus();
      await page.keyboard.press('g');
      await page.keyboard.press('r');
      await page.keyboard.press('?');
      assert.equal(new URL(page.url()).pathname, '/settings');
      assert.equal(await page.getByRole('dialog').count(), 0);
    });
  });

  test('notifications are off, and stay off where the browser refuses', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/settings');
      const box = page.getByRole('checkbox', { name: /^Notifications/ });
      assert.ok(!(await box.isChecked()));
      await page.evaluate(() => (Notification.requestPermission = () => Promise.resolve('denied')));
      await box.focus();
      await page.keyboard.press('Space');
      await page.getByText('The browser blocks notifications').waitFor();
      assert.ok(!(await box.isChecked()));
      await accessible(page, 'refused notifications');
      await page.evaluate(() => (Notification.requestPermission = () => Promise.resolve('granted')));
      await page.keyboard.press('Space');
      await until('it is on', () => box.isChecked());
      await page.reload();
      await until('and kept', () => box.isChecked());
    });
  });

  test('downloads: a reply as JSON, a table as CSV and as JSON', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${reply.id}`);
      await page.getByText('Borealis').first().waitFor();
      const press = (name) => async () => {
        await page.getByRole('button', { name }).first().focus();
        await page.keyboard.press('Enter');
      };
      const whole = await downloaded(page, press('Download JSON'));
      assert.equal(whole.name, `reply-${reply.index}.json`);
      assert.deepEqual(JSON.parse(whole.text), (await server.get(`/api/replies/${reply.id}`)).document);
      await press('Export')();
      const csv = await downloaded(page, press('CSV, all 2 rows'));
      assert.match(csv.name, /\.csv$/);
      assert.equal(csv.text, '\ufeffship,tons\r\nAurora,4100\r\nBorealis,12345678901\r\n');
      await press('Export')();
      const json = await downloaded(page, press('JSON, all 2 rows'));
      assert.deepEqual(JSON.parse(json.text), { columns: ['ship', 'tons'], rows: [['Aurora', 4100], ['Borealis', 12345678901]] });
    });
  });
});
