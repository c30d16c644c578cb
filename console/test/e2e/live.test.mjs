// Tests streams while they are displayed: through a server crash, in ten tabs, and without layout shifts.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, closeBrowser, downloaded, envelope, excessWidth, LIMIT, PATIENCE, Server, settled, table, until, visit } from './harness.mjs';

let server;

before(async () => {
  server = await Server.start();
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

const begin = (stream, members = {}) =>
  server.post(`/api/streams/${stream}/events`, { kind: 'envelope', body: envelope([table('Berths', ['step', 'ship'], [])], { response_type: 'live_execution', summary: `Watching ${stream}.`, live_stream_id: stream, ...members }) });
const row = (stream, step) => server.post(`/api/streams/${stream}/events`, { kind: 'rows', body: { artifact: 0, rows: [[step, `ship ${step}`]] } });
const pill = (page, words) => page.locator('header .pill', { hasText: words });
const log = (page) => page.getByRole('region', { name: 'Raw event log' });
/** Reads the first cell of every table row. */
const steps = (page) => page.locator('table[role="grid"] tbody tr[data-index] td[data-c="0"]').allInnerTexts();
const upTo = (count) => Array.from({ length: count }, (_, step) => String(step));

/** Checks that the table and the log have exactly these steps, each once and in order. */
async function hasSteps(page, stream, count) {
  await until(`${count} rows in the table`, async () => (await steps(page)).length >= count);
  assert.deepEqual(await steps(page), upTo(count), 'rows of the table');
  const { events } = await server.get(`/api/streams/${stream}/events?after=0&limit=500`);
  const wanted = events.map((event) => String(event.seq));
  await until(`${wanted.length} lines in the log`, async () => (await log(page).locator('.seq').count()) >= wanted.length);
  assert.deepEqual((await log(page).locator('.seq').allInnerTexts()).map((text) => text.trim()), wanted, 'lines of the log');
  assert.equal(await log(page).locator('.gap').count(), 0, 'no gap');
}

describe('live', () => {
  test('a stream grows while it is watched, and ends', { timeout: LIMIT }, async () => {
    await begin('growing');
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/live/growing');
      await pill(page, 'Live').waitFor();
      await page.getByRole('heading', { name: 'Watching growing.' }).waitFor();
      for (let step = 0; step < 12; step += 1) await row('growing', step);
      await hasSteps(page, 'growing', 12);
      await server.post('/api/streams/growing/events', [{ kind: 'note', body: { text: 'Half way.' } }, { kind: 'signal', body: { signal_type: 'berth_taken', signal_layer: 'selector', signal_source: 'harbour', timestamp: '2026-03-04T05:00:05+00:00' } }, { kind: 'text', body: { text: ' All well.' } }, { kind: 'patch', body: { patch: [{ op: 'replace', path: '/artifacts/0/title', value: 'Berths, renamed' }] } }]);
      await page.getByText('Half way.').first().waitFor();
      await page.getByRole('heading', { name: 'Watching growing. All well.' }).waitFor();
      await page.getByRole('heading', { name: 'Berths, renamed' }).waitFor();
      await page.getByRole('complementary', { name: 'Signals and notes' }).getByText('berth_taken').waitFor();
      await server.post('/api/streams/growing/end', { outcome: 'completed' });
      await page.locator('main .pill', { hasText: 'Ended: completed' }).waitFor();
      await page.getByText('This stream is complete; nothing follows.').waitFor();
      await hasSteps(page, 'growing', 12);
      await accessible(page, 'an ended stream');
      // The folded events equal the server's snapshot.
      await page.reload();
      await page.getByRole('heading', { name: 'Berths, renamed' }).waitFor();
      await hasSteps(page, 'growing', 12);
    });
  });

  test('numbers beyond 2^53 keep their digits: live, loaded, as JSON and exported', { timeout: LIMIT }, async () => {
    await begin('exact');
    const big = ['9007199254740993', '12345678901234567890', '-9223372036854775807'];
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/live/exact');
      await pill(page, 'Live').waitFor();
      await page.getByRole('heading', { name: 'Watching exact.' }).waitFor();
      for (const number of big) await server.post('/api/streams/exact/events', `{"kind":"rows","body":{"artifact":0,"rows":[[${number},{"deep":${number}}]]}}`);
      const see = async () => {
        await until('three rows', async () => (await steps(page)).length === 3);
        assert.deepEqual(await steps(page), big);
        assert.deepEqual(await page.locator('td[data-c="1"]').allInnerTexts(), big.map((number) => `{"deep":${number}}`));
        for (const number of big) await log(page).getByText(`"rows":[[${number},`).waitFor();
        await page.getByRole('tab', { name: 'JSON' }).first().click();
        for (const number of big) await page.getByRole('treeitem').getByText(number, { exact: true }).first().waitFor();
        await page.getByRole('tab', { name: 'View' }).first().click();
        for (const [choice, check] of [['CSV, all 3 rows', (text) => big.every((number) => text.includes(`\r\n${number},"{""deep"":${number}}"`))], ['JSON, all 3 rows', (text) => big.every((number) => new RegExp(`\\[\\s*${number},\\s*\\{\\s*"deep": ${number}`).test(text))]]) {
          await page.getByRole('button', { name: 'Export' }).click();
          const { text } = await downloaded(page, () => page.getByRole('button', { name: choice }).click());
          assert.ok(check(text), text);
        }
      };
      await see();
      // The address follows the view after a moment, and a reload restores it.
      await until('the address says that the table is shown', () => !page.url().includes('tab=json'));
      await page.reload();
      await see();
    });
  });

  test('a stream is played again: speed, pause, any place, by keyboard, and without motion', { timeout: 2 * LIMIT }, async () => {
    await begin('again');
    for (let step = 0; step < 6; step += 1) await row('again', step);
    await server.post('/api/streams/again/end', { outcome: 'completed' });
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/live/again');
      await hasSteps(page, 'again', 6);
      await page.getByRole('button', { name: 'Replay from the start' }).focus();
      await page.keyboard.press('Enter');
      const bar = page.getByRole('group', { name: 'Replay' });
      await bar.getByRole('button', { name: 'Pause replay' }).or(bar.getByRole('button', { name: 'Play again' })).waitFor();
      await until('the focus is in the bar', () => page.evaluate(() => document.activeElement?.closest('[aria-label="Replay"]') !== null));
      await bar.getByRole('button', { name: '×4' }).click();
      // At its end the replay equals the stream.
      await bar.getByRole('button', { name: 'Play again' }).waitFor();
      assert.deepEqual(await steps(page), upTo(6));
      const place = bar.getByRole('slider', { name: 'Position in the stream' });
      await place.fill('3');
      await until('two rows', async () => (await steps(page)).join() === '0,1');
      assert.equal(await log(page).locator('.seq').count(), 3);
      await place.focus();
      await page.keyboard.press('ArrowRight');
      await until('three rows', async () => (await steps(page)).join() === '0,1,2');
      await bar.getByRole('button', { name: 'Previous event' }).click();
      await until('two rows again', async () => (await steps(page)).length === 2);
      await accessible(page, 'a replay');
      await page.setViewportSize({ width: 320, height: 256 });
      assert.ok((await excessWidth(page)) <= 0, 'a replay fits at 400 %');
      await page.setViewportSize({ width: 1280, height: 800 });
      await bar.getByRole('button', { name: 'Leave the replay' }).click();
      await hasSteps(page, 'again', 6);
      await until('the focus is back', () => page.evaluate(() => document.activeElement?.textContent?.includes('Replay from the start')));
    });
    await visit(server, { reducedMotion: 'reduce' }, async (one) => {
      const { page } = one;
      await one.open('/live/again');
      await page.getByRole('button', { name: 'Replay from the start' }).click();
      const bar = page.getByRole('group', { name: 'Replay' });
      await bar.getByText('step by step').waitFor();
      assert.equal(await bar.getByRole('button', { name: /Play/ }).count(), 0);
      await bar.getByText('0 of 8').or(bar.getByText('0 of 9')).waitFor();
      for (let press = 0; press < 2; press += 1) await bar.getByRole('button', { name: 'Next event' }).click();
      await until('one row', async () => (await steps(page)).join() === '0');
    });
  });

  test('a new stream appears in the list by itself', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/live');
      await pill(page, 'Live').waitFor();
      await begin('sudden');
      const link = page.getByRole('link', { name: /sudden/ });
      await link.waitFor();
      await row('sudden', 0);
      await link.getByText('2 events').waitFor();
      await server.post('/api/streams/sudden/end', { outcome: 'failed' });
      await link.getByText('Ended: failed').waitFor();
    });
  });

  test('the server is killed in the middle and starts again: no gap, no duplicate', { timeout: 2 * LIMIT }, async () => {
    await begin('shaken');
    await visit(server, {}, async (one) => {
      const { page } = one;
      // This test expects connection errors.
      one.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_SOCKET_NOT_CONNECTED/);
      await one.open('/live/shaken');
      await pill(page, 'Live').waitFor();
      let step = 0;
      for (let round = 0; round < 3; round += 1) {
        for (let more = 0; more < 8; more += 1) await row('shaken', step++);
        // The test does not wait for the page, so that some rows are in transit when the server is killed.
        await server.crash();
        await pill(page, /Reconnecting|Offline/).waitFor();
        await server.restart();
        // These events happen while the page is disconnected.
        for (let more = 0; more < 8; more += 1) await row('shaken', step++);
        await pill(page, 'Live').waitFor({ timeout: 2 * PATIENCE });
        await hasSteps(page, 'shaken', step);
      }
      await row('shaken', step++);
      await hasSteps(page, 'shaken', step);
      await server.post('/api/streams/shaken/end', { outcome: 'completed' });
      await page.locator('main .pill', { hasText: 'Ended: completed' }).waitFor();
    });
  });

  test('the pill and a banner tell a server that stays away, and a click asks again', { timeout: 2 * LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      one.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_SOCKET_NOT_CONNECTED/);
      await one.open('/replies');
      await pill(page, 'Live').waitFor();
      await server.crash();
      await pill(page, 'Reconnecting').waitFor();
      await page.getByText('The server does not answer, so this page may be out of date.').waitFor();
      await pill(page, 'Offline').waitFor({ timeout: 2 * PATIENCE });
      await accessible(page, 'a page without its server');
      await server.restart();
      await pill(page, /Offline|Reconnecting/).click();
      await pill(page, 'Live').waitFor();
      await page.getByText('The server does not answer').waitFor({ state: 'detached' });
    });
  });

  test('ten tabs are live on one connection', { timeout: 2 * LIMIT }, async () => {
    await begin('shared');
    await visit(server, {}, async (one) => {
      const pages = [one.page];
      await one.open('/live/shared');
      await pill(one.page, 'Live').waitFor();
      const before = await server.requests('/api/events');
      while (pages.length < 10) pages.push(await one.tab('/live/shared'));
      for (const page of pages) await pill(page, 'Live').waitFor();
      for (const page of pages) await page.getByRole('heading', { name: 'Watching shared.' }).waitFor();
      for (let step = 0; step < 5; step += 1) await row('shared', step);
      for (const page of pages) await until('five rows', async () => (await steps(page)).length === 5);
      for (const page of pages) assert.deepEqual(await steps(page), upTo(5));
      // Ten connections would exceed the browser's limit of six per host.
      assert.equal(await server.requests('/api/events'), before, 'further requests for events');
      // The tab that opened the connection closes; the others stay live.
      await pages[0].close();
      one.page = pages[1];
      await row('shared', 5);
      for (const page of pages.slice(1)) await until('six rows', async () => (await steps(page)).length === 6);
      assert.equal(await server.requests('/api/events'), before, 'further requests for events');
    });
  });

  test('"n new" instead of jumping: replies, log and pause', { timeout: LIMIT }, async () => {
    const post = (number) => server.post('/api/replies', envelope([], { response_type: 'text', summary: `Reply number ${number}.` }));
    for (let number = 0; number < 30; number += 1) await post(number);
    await begin('long');
    for (let step = 0; step < 60; step += 1) await row('long', step);
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/replies');
      await page.getByText('Reply number 29.').waitFor();
      await pill(page, 'Live').waitFor();
      const at = () => page.getByText('Reply number 25.').evaluate((element) => element.getBoundingClientRect().top + scrollY);
      const before = await page.locator('main [data-row]').first().innerText();
      const place = await at();
      await post('thirty');
      await post('thirty-one');
      const fresh = page.getByRole('button', { name: 'Show 2 new' });
      await fresh.waitFor();
      assert.equal((await page.locator('main [data-row]').first().innerText()).split('\n')[0], before.split('\n')[0], 'the list has not moved');
      assert.ok(Math.abs((await at()) - place) < 80, 'and nothing else has moved away');
      await accessible(page, 'new replies');
      await fresh.click();
      await page.getByText('Reply number thirty-one.').waitFor();
      await fresh.waitFor({ state: 'detached' });

      await one.open('/live/long');
      await log(page).locator('.seq').first().waitFor();
      await until('the log follows', () => log(page).evaluate((list) => list.scrollTop > 0));
      await log(page).evaluate((list) => (list.scrollTop = 0));
      await log(page).evaluate((list) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      for (let step = 60; step < 64; step += 1) await row('long', step);
      const jump = page.getByRole('button', { name: 'Jump to latest (4 new)' });
      await jump.waitFor();
      assert.equal(await log(page).evaluate((list) => list.scrollTop), 0, 'the log has not jumped');
      await jump.click();
      await until('the end of the log', () => log(page).evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 24));

      await page.getByRole('button', { name: 'Pause' }).click();
      for (let step = 64; step < 67; step += 1) await row('long', step);
      await page.getByRole('button', { name: 'Resume (3 new)' }).waitFor();
      assert.equal((await steps(page)).length, 64);
      await page.getByRole('button', { name: 'Resume (3 new)' }).click();
      await hasSteps(page, 'long', 67);
      await settled(page);
    });
  });
});
