// Tests access: launch links, sessions that end, and sessions without permission to decide.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, closeBrowser, envelope, LIMIT, Server, until, visit } from './harness.mjs';

let server;

before(async () => {
  server = await Server.start();
  await server.post('/api/replies', envelope([], { response_type: 'text', summary: 'Seen by those who may.' }));
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

describe('session', () => {
  test('a launch link opens once, and its token does not stay in the address', { timeout: LIMIT }, async () => {
    const link = await server.link();
    await visit(server, { isLocked: true }, async (one) => {
      await one.page.goto(link);
      await one.page.getByRole('navigation', { name: 'Main' }).waitFor();
      assert.ok(!one.page.url().includes('#'), one.page.url());
    });
    await visit(server, { isLocked: true }, async (one) => {
      const { page } = one;
      one.allow(/status of 401/);
      await page.goto(link);
      await page.getByRole('alert').getByText('This launch link was already used').waitFor();
      await page.getByRole('region', { name: 'Command' }).getByText('answerback link').waitFor();
      assert.ok(!page.url().includes('#'), page.url());
      await accessible(page, 'a used link');
      // Try an invalid token first, then paste a new link as printed.
      await page.getByLabel('Link or token').fill('ab_wrong');
      await page.getByRole('button', { name: 'Unlock' }).click();
      await page.getByRole('alert').getByText('This token is not valid').waitFor();
      await page.getByLabel('Link or token').fill(await server.link());
      await page.getByRole('button', { name: 'Unlock' }).click();
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
    });
  });

  test('without a session nothing is shown, and the wanted page opens after unlocking', { timeout: LIMIT }, async () => {
    await visit(server, { isLocked: true }, async (one) => {
      const { page } = one;
      one.allow(/status of 401/);
      await page.goto(`${server.url}/replies`);
      await page.getByRole('heading', { name: 'This console needs its launch link' }).waitFor();
      assert.equal(await page.getByText('Seen by those who may.').count(), 0);
      await page.getByLabel('Link or token').fill(await server.link());
      await page.keyboard.press('Enter');
      await page.getByText('Seen by those who may.').waitFor();
      assert.equal(new URL(page.url()).pathname, '/replies');
    });
  });

  test('a revoked session ends its stream and asks to unlock; the page behind stays', { timeout: LIMIT }, async () => {
    await server.post('/api/streams/watched/events', { kind: 'note', body: { text: 'Before.' } });
    await visit(server, {}, async (other) => {
      other.allow(/status of 401|ERR_INCOMPLETE_CHUNKED_ENCODING/);
      const { page } = other;
      await other.open('/live/watched');
      await page.locator('header .pill', { hasText: 'Live' }).waitFor();
      await page.getByText('Before.').first().waitFor();
      await visit(server, {}, async (one) => {
        await one.open('/settings');
        const rows = one.page.locator('.sessions li').filter({ has: one.page.getByRole('button', { name: 'Revoke' }) });
        await rows.first().waitFor();
        // Ends every other session, whichever of them is ours.
        for (let left = await rows.count(); left > 0; left -= 1) {
          await rows.first().getByRole('button', { name: 'Revoke' }).click();
          await until('one session less', async () => (await rows.count()) === left - 1);
        }
      });
      await page.getByRole('dialog').getByRole('heading', { name: 'Your session has ended' }).waitFor();
      await accessible(page, 'an ended session');
      await server.post('/api/streams/watched/events', { kind: 'note', body: { text: 'Not for you.' } });
      const answer = await page.evaluate(async () => (await fetch('/api/replies')).status);
      assert.equal(answer, 401);
      assert.equal(await page.getByText('Not for you.').count(), 0);
      await page.keyboard.press('Escape');
      assert.ok(await page.getByRole('dialog').isVisible(), 'Escape does not leave a dead page');
      // After unlocking, the same page shows the missed changes.
      await page.getByLabel('Link or token').fill(await server.link());
      await page.getByRole('button', { name: 'Unlock' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.locator('header .pill', { hasText: 'Live' }).waitFor();
      await page.getByText('Not for you.').first().waitFor();
      assert.equal(await page.getByRole('region', { name: 'Raw event log' }).locator('.seq').count(), 2);
    });
  });

  test('locking this browser leads to the unlock page in all its tabs', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      one.allow(/status of 401|ERR_INCOMPLETE_CHUNKED_ENCODING/);
      const other = await one.tab('/replies');
      await other.getByText('Seen by those who may.').waitFor();
      await one.open('/settings');
      await one.page.getByRole('button', { name: 'Lock this browser' }).click();
      await one.page.getByRole('heading', { name: 'This console needs its launch link' }).waitFor();
      await other.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    });
  });

  test('a session survives a restart of the server', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      one.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING/);
      await one.open('/replies');
      await server.stop();
      await server.restart();
      await one.open('/replies');
      await one.page.getByText('Seen by those who may.').waitFor();
    });
  });

  test('without the scope to decide a case can be read, and the page says so', { timeout: LIMIT }, async () => {
    const proposal = await server.post('/api/cases', { kind: 'proposal', title: 'Only to read', objective_type: 'x', description: 'One.', arguments: { berth: 1 } });
    // An agent's token may only read, and so may a browser that sends it. Shared workers cannot send the header.
    await visit(server, { isLocked: true, extraHTTPHeaders: { authorization: `Bearer ${server.token}` } }, async (one) => {
      await one.context.addInitScript(() => delete window.SharedWorker);
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      await page.getByRole('heading', { name: 'Only to read' }).waitFor();
      await page.locator('article.card').getByText('Read-only session').waitFor();
      for (const name of ['Approve', 'Modify', 'Reject', 'Defer']) assert.equal(await page.getByRole('button', { name }).count(), 0);
      await page.keyboard.press('a');
      assert.equal(await page.getByRole('button', { name: 'Yes, approve' }).count(), 0);
      await accessible(page, 'a case to read only');
    });
    await server.post(`/api/cases/${proposal.case.id}/decision`, { decision: 'approve', digest: proposal.case.digest, revision: proposal.case.revision }, { status: 403 });
  });
});
