// Tests that the address holds the view: a reload, Back, and the same link in another browser restore it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, closeBrowser, envelope, excessWidth, LIMIT, Server, settled, table, until, visit } from './harness.mjs';

let server;
let reply;

const names = Array.from({ length: 400 }, (_, at) => [`ship ${String(at).padStart(3, '0')}`, (at * 37) % 400, at % 2 === 0 ? 'in port' : 'at sea']);
const timeline = { artifact_type: 'timeline', title: 'The day', content: { events: Array.from({ length: 40 }, (_, at) => ({ timestamp: `2026-03-04T05:${String(at).padStart(2, '0')}:00+00:00`, event: `step ${at}`, status: at % 4 === 0 ? 'failed' : 'success' })), event_count: 40 }, metadata: {} };
const chart = { artifact_type: 'chart', title: 'Use', content: { chart_type: 'line', data: { labels: ['a', 'b', 'c', 'd', 'e', 'f'], datasets: [{ label: 'use', data: [1, 2, 3, 4, 5, 6] }] } }, metadata: {} };
const json = { artifact_type: 'json_data', title: 'Raw', content: { data: { ports: [{ name: 'Gdansk' }, { name: 'Gothenburg' }] } }, metadata: {} };

before(async () => {
  server = await Server.start();
  reply = await server.post('/api/replies', envelope([table('Ships', ['ship', 'tons', 'where'], names), table('Others', ['ship', 'tons', 'where'], names.slice(0, 5)), timeline, chart, json], { summary: 'Everything that has a view.' }));
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

const card = (page, title) => page.getByRole('article', { name: title });
const firstCells = async (scope) => (await scope.locator('tbody tr[data-index] td[data-c="0"]').allInnerTexts()).slice(0, 3);
const members = (page) => Object.fromEntries(new URL(page.url()).searchParams);

describe('links', () => {
  test('two tables, a timeline, a chart and a tree of one reply keep their views apart', { timeout: 2 * LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${reply.id}`);
      const [ships, others, day, use, raw] = ['Ships', 'Others', 'The day', 'Use', 'Raw'].map((title) => card(page, title));
      await ships.getByRole('button', { name: /^tons/ }).click();
      await ships.getByRole('button', { name: /^tons/ }).click();
      await ships.getByRole('searchbox').fill('port');
      await ships.getByText('200 of 400 rows').waitFor();
      await ships.getByRole('button', { name: 'Columns' }).click();
      await page.getByRole('checkbox', { name: /^where/ }).uncheck();
      await page.keyboard.press('Escape');
      await others.getByRole('tab', { name: 'JSON' }).click();
      await others.getByRole('searchbox').fill('ship 003');
      await others.getByText('1 of 1').waitFor();
      await day.getByRole('button', { name: 'Zoom in' }).click();
      await day.getByRole('button', { name: 'Later' }).click();
      await day.getByRole('button', { name: 'step 7', exact: true }).click();
      await day.getByRole('region', { name: 'Event 8' }).waitFor();
      await use.getByRole('button', { name: 'Bar' }).click();
      await use.getByRole('slider', { name: 'From' }).fill('40');
      await raw.getByRole('searchbox').fill('goth');
      await raw.getByText('1 of 1').waitFor();

      const see = async (where) => {
        const at = (title) => card(where, title);
        await at('Ships').getByText('200 of 400 rows').waitFor();
        assert.equal(await at('Ships').getByRole('searchbox').inputValue(), 'port');
        assert.equal(await at('Ships').locator('th').count(), 2);
        assert.equal(await at('Ships').locator('th[aria-sort="descending"]').innerText(), 'tons');
        await at('Others').getByRole('tab', { name: 'JSON', selected: true }).waitFor();
        await at('Others').getByText('1 of 1').waitFor();
        await at('The day').getByRole('region', { name: 'Event 8' }).waitFor();
        assert.equal(await at('The day').getByRole('slider', { name: 'Zoom' }).inputValue(), '1');
        assert.equal(await at('Use').getByRole('slider', { name: 'From' }).inputValue(), '40');
        assert.equal(await at('Use').getByRole('button', { name: 'Bar' }).getAttribute('aria-pressed'), 'true');
        await at('Raw').getByText('1 of 1').waitFor();
        await until('the found line is on the screen', () => at('Raw').locator('[aria-selected="true"]', { hasText: 'Gothenburg' }).isVisible());
      };
      await see(page);
      await until('the address has it all', () => members(page)['a4.at'] === '/data/ports/1/name' || members(page)['a4.at']?.endsWith('/1/name'));
      assert.deepEqual(await firstCells(ships), await firstCells(card(page, 'Ships')));
      const before = await firstCells(ships);
      await accessible(page, 'a reply that is looked at closely');
      const address = page.url();

      await page.reload();
      await settled(page);
      await see(page);
      assert.deepEqual(await firstCells(card(page, 'Ships')), before);
      assert.equal(page.url(), address, 'looking does not change the address');

      // Leave by a link of the page and return; then forward and back again.
      await page.getByRole('link', { name: 'Replies' }).first().click();
      await page.getByRole('heading', { level: 1, name: 'Replies' }).waitFor({ state: 'attached' });
      await page.goBack();
      await see(page);
      await page.goForward();
      await page.getByRole('heading', { level: 1, name: 'Replies' }).waitFor({ state: 'attached' });
      await page.goBack();
      await see(page);
      assert.equal(page.url(), address);

      // Open the same link in another browser.
      await visit(server, {}, async (other) => {
        await other.page.goto(address);
        await settled(other.page);
        await see(other.page);
      });

      // The full page keeps the card's view state.
      await card(page, 'Ships').getByRole('button', { name: 'More about Ships' }).click();
      await page.getByRole('link', { name: 'Open full view' }).click();
      await page.getByRole('heading', { level: 1, name: 'Ships' }).waitFor();
      await page.getByText('200 of 400 rows').waitFor();
      assert.deepEqual(members(page), { sort: '-tons', q: 'port', hide: 'where' });
      assert.deepEqual(await firstCells(page.locator('main')), before);
    });
  });

  test('a long table opens at the row it was left at', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${reply.id}/a/0`);
      await page.getByRole('grid').waitFor();
      await page.locator('.scroll').first().evaluate((box) => (box.scrollTop = 36 * 250));
      await until('the row is in the address', () => Number(members(page).row) > 200);
      const row = Number(members(page).row);
      await page.reload();
      await page.locator(`tr[data-index="${row}"]`).waitFor();
      await until('it is where it was', () => page.locator('.scroll').first().evaluate((box) => Math.abs(box.scrollTop - 36 * 250) < 80));
      assert.equal(Number(members(page).row), row);
    });
  });

  test('a slider that is dragged changes the address a few times only, and ends right', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${reply.id}/a/2?as=lanes`);
      await page.evaluate(() => {
        const replace = history.replaceState.bind(history);
        globalThis.written = 0;
        history.replaceState = (...all) => {
          globalThis.written += 1;
          return replace(...all);
        };
      });
      const zoom = page.getByRole('slider', { name: 'Zoom' });
      await zoom.focus();
      for (let press = 0; press < 20; press += 1) await page.keyboard.press('ArrowRight');
      await until('the last zoom is in the address', async () => members(page).zoom === (await zoom.inputValue()));
      assert.equal(await zoom.inputValue(), '10');
      assert.ok((await page.evaluate(() => globalThis.written)) <= 12, `${await page.evaluate(() => globalThis.written)} changes of the address`);
    });
  });

  test('an address that names nothing says so and where to go', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      // The browser logs the 404 of a missing reply by itself.
      one.allow(/status of 404/);
      for (const [path, title, place] of [['/reply/7', 'There is no such page', 'Replies'], ['/r/0190b8f0-0000-7000-8000-000000000000', 'This reply was not found, or was pruned', 'Replies'], ['/r/999999/a/0?sort=-x', 'This reply was not found, or was pruned', 'Replies'], ['/ledger/999999', 'There is no such entry, or it was pruned', 'Ledger']]) {
        // Navigate from an existing page, so that the application handles the unknown address instead of the server.
        await one.open('/settings');
        await page.evaluate((address) => {
          history.pushState({}, '', address);
          dispatchEvent(new PopStateEvent('popstate'));
        }, path);
        await page.getByRole('heading', { level: 1, name: title }).waitFor({ state: 'attached' });
        await accessible(page, path);
        await page.setViewportSize({ width: 320, height: 256 });
        assert.ok((await excessWidth(page)) <= 0, `${path} fits at 400 %`);
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.locator('main').getByRole('link', { name: place }).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: place }).waitFor({ state: 'attached' });
      }
    });
  });

  test('a stream keeps its view while it grows', { timeout: LIMIT }, async () => {
    const post = (event) => server.post('/api/streams/kept/events', event);
    await post({ kind: 'envelope', body: envelope([table('Berths', ['step', 'ship'], [[1, 'b'], [2, 'a']])], { response_type: 'live_execution', live_stream_id: 'kept' }) });
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/live/kept?a0.sort=-step&a0.hide=ship');
      await page.getByRole('grid').waitFor();
      await post({ kind: 'rows', body: { artifact: 0, rows: [[3, 'c']] } });
      await until('the new row is first', async () => (await firstCells(page.locator('main'))).join() === '3,2,1');
      assert.deepEqual(members(page), { 'a0.sort': '-step', 'a0.hide': 'ship' });
    });
  });
});
