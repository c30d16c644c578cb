// Tests decisions with an agent that waits for them.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, closeBrowser, envelope, LIMIT, Server, settled, table, until, visit } from './harness.mjs';

let server;

before(async () => {
  server = await Server.start();
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

const SCHEMA = {
  type: 'object',
  properties: { ship: { type: 'string' }, berth: { type: 'integer', minimum: 1, maximum: 9 }, draught: { type: 'number' }, at_night: { type: 'boolean' }, side: { enum: ['port', 'starboard'] } },
  required: ['ship', 'berth'],
};
const ARGUMENTS = { ship: 'Aurora', berth: 4, draught: 11.25, at_night: false, side: 'port' };
let number = 0;

/** Creates a proposal with a unique title, so that tests can find it on a page. */
function propose(members = {}) {
  number += 1;
  return server.post('/api/cases', { kind: 'proposal', title: `Move ship ${number}`, objective_type: 'berth_change', description: 'Berth 2 is needed.', arguments: ARGUMENTS, response_schema: SCHEMA, effects: ['The crew is called back'], expires_in_seconds: 900, ...members });
}

/** Simulates an agent that waits for the decision and acknowledges it. The request is running when this returns. */
function agentFor(id) {
  const waiting = server.get(`/api/cases/${id}/decision?wait=30`);
  return {
    decided: waiting,
    async acknowledge(outcome = 'done', note = 'The agent has taken it.') {
      const document = await waiting;
      assert.equal(document.case.state.status, 'decided');
      await server.post(`/api/cases/${id}/acknowledgement`, { outcome, note });
      return document.case.state.submission;
    },
  };
}

const card = (page) => page.locator('article.card');

describe('decisions', () => {
  test('approve: the waiting agent gets it, and the page sees that it did', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/inbox');
      await page.getByRole('link', { name: proposal.content.title }).click();
      const agent = agentFor(proposal.case.id);
      await card(page).getByRole('button', { name: 'Approve' }).click();
      await card(page).getByText('Approved').waitFor();
      await card(page).getByText(/Not yet acknowledged|Acknowledged/).first().waitFor();
      const submission = await agent.acknowledge('done', 'Moved at 14:00.');
      assert.equal(submission.decision, 'approve');
      assert.equal(submission.digest, proposal.case.digest);
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
      await card(page).getByText('Moved at 14:00.').waitFor();
      await accessible(page, 'an approved case');
      await one.open('/inbox?status=decided');
      await page.getByRole('link', { name: proposal.content.title }).getByText('acknowledged', { exact: true }).waitFor();
    });
  });

  test('a high risk is approved in two steps', { timeout: LIMIT }, async () => {
    const proposal = await propose({ risk: 'high' });
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      await card(page).getByText('High risk').waitFor();
      await card(page).getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('heading', { name: 'Approve?' }).waitFor();
      await accessible(page, 'the step to confirm');
      assert.equal((await server.get(`/api/cases/${proposal.case.id}`)).case.state.status, 'open');
      const agent = agentFor(proposal.case.id);
      await page.getByRole('button', { name: 'Yes, approve' }).click();
      assert.equal((await agent.acknowledge()).decision, 'approve');
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
    });
  });

  test('modify: the form keeps every type, and shows what changes', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      const agent = agentFor(proposal.case.id);
      await card(page).getByRole('button', { name: 'Modify' }).click();
      const send = page.getByRole('button', { name: 'Approve with these arguments' });
      assert.ok(await send.isDisabled(), 'nothing is changed yet');
      // Arguments that violate the schema are reported at once and not sent.
      await page.getByLabel(/^berth/).fill('12');
      await page.locator('.fault').filter({ hasText: 'berth' }).first().waitFor();
      assert.ok(await send.isDisabled());
      await page.getByLabel(/^berth/).fill('seven');
      await page.locator('[aria-invalid="true"]').first().waitFor();
      await page.getByLabel(/^berth/).fill('7');
      await page.getByLabel(/^draught/).fill('12.0');
      await page.getByLabel(/^at_night/).selectOption('true');
      await page.getByLabel(/^side/).selectOption({ label: 'starboard' });
      const changes = page.getByRole('region', { name: 'Changes' });
      for (const words of ['/berth', '4', '7', '/at_night', '/side']) await changes.getByText(words, { exact: false }).first().waitFor();
      await accessible(page, 'the form of a modification');
      await send.click();
      const submission = await agent.acknowledge();
      assert.equal(submission.decision, 'modify');
      assert.deepEqual(submission.arguments, { ship: 'Aurora', berth: 7, draught: 12, at_night: true, side: 'starboard' });
      await card(page).getByText('Approved with changed arguments').waitFor();
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
      await card(page).locator('.changes').getByText('/berth').waitFor();
    });
  });

  test('reject with a reason', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      const agent = agentFor(proposal.case.id);
      await card(page).getByRole('button', { name: 'Reject' }).click();
      await page.getByLabel(/^Reason/).fill('Berth 4 is closed for repairs.');
      await accessible(page, 'the form of a rejection');
      await page.locator('form').getByRole('button', { name: 'Reject' }).click();
      const submission = await agent.acknowledge('cancelled', 'Not moved.');
      assert.deepEqual([submission.decision, submission.reason], ['reject', 'Berth 4 is closed for repairs.']);
      await card(page).getByText('Berth 4 is closed for repairs.').waitFor();
      await card(page).getByText('Not moved.').waitFor();
    });
  });

  test('a question, answered by an option and by words', { timeout: LIMIT }, async () => {
    const ask = () => server.post('/api/cases', { kind: 'question', question: `Which ship first? (${(number += 1)})`, options: ['The Aurora', 'The Borealis'] });
    const [first, second] = [await ask(), await ask()];
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${first.case.id}`);
      const agent = agentFor(first.case.id);
      await card(page).getByRole('button', { name: 'The Borealis' }).click();
      assert.equal((await agent.acknowledge()).message, 'The Borealis');
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
      await one.open(`/inbox/${second.case.id}`);
      const other = agentFor(second.case.id);
      await page.getByLabel('Or answer in your own words').fill('Neither: wait for the pilot.');
      await page.getByRole('button', { name: 'Send answer' }).click();
      const submission = await other.acknowledge();
      assert.deepEqual([submission.decision, submission.message], ['respond', 'Neither: wait for the pilot.']);
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
    });
  });

  test('defer, and decide later', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      await card(page).getByRole('button', { name: 'Defer' }).click();
      await page.getByLabel('Ask again in').selectOption('15 minutes');
      await page.locator('form').getByRole('button', { name: 'Defer' }).click();
      await card(page).locator('.pill', { hasText: 'Deferred' }).waitFor();
      const agent = agentFor(proposal.case.id);
      await card(page).getByRole('button', { name: 'Approve' }).click();
      assert.equal((await agent.acknowledge()).decision, 'approve');
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
    });
  });

  test('an escalation of the gateway, guided with words', { timeout: LIMIT }, async () => {
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const mcp = async (message) => {
      const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
      const session = answer.headers.get('mcp-session-id');
      if (session) headers['mcp-session-id'] = session;
      await answer.text();
    };
    await mcp({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } } });
    await mcp({ method: 'notifications/initialized' });
    for (const id of [2, 3, 4]) await mcp({ id, method: 'tools/call', params: { name: 'validate_email', arguments: { email: id } } });
    const escalation = await until('the escalation', async () => (await server.get('/api/cases?status=waiting&kind=escalation')).cases[0]);
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${escalation.case.id}`);
      await page.getByRole('heading', { name: /validate_email is blocked after 3 failed attempts/ }).waitFor();
      await accessible(page, 'an escalation');
      const agent = agentFor(escalation.case.id);
      await card(page).getByRole('button', { name: 'Guide the model' }).click();
      await page.getByLabel('Message to the agent').fill('An address is a text with an @.');
      await page.locator('form').getByRole('button', { name: 'Guide the model' }).click();
      assert.equal((await agent.decided).case.state.submission.message, 'An address is a text with an @.');
      await card(page).getByText('Model guided').waitFor();
    });
  });

  test('a reload in the middle of a decision loses nothing', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      // The request arrives but the response does not, which is the worst moment for a reload.
      let arrived = false;
      await page.route(`**/api/cases/${proposal.case.id}/decision`, async (route) => {
        await route.fetch();
        arrived = true;
      });
      const agent = agentFor(proposal.case.id);
      await card(page).getByRole('button', { name: 'Approve' }).click();
      await until('the decision arrives', () => arrived);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.reload();
      await page.getByRole('heading', { name: proposal.content.title }).waitFor();
      await card(page).getByText('Approved').waitFor();
      assert.equal((await agent.acknowledge()).decision, 'approve');
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
    });
  });

  test('a reload before a decision keeps the case open', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/inbox/${proposal.case.id}`);
      await card(page).getByRole('button', { name: 'Reject' }).click();
      await page.getByLabel(/^Reason/).fill('half a rea');
      await page.reload();
      await page.getByRole('heading', { name: proposal.content.title }).waitFor();
      const agent = agentFor(proposal.case.id);
      await card(page).getByRole('button', { name: 'Approve' }).click();
      assert.equal((await agent.acknowledge()).decision, 'approve');
      await card(page).getByText('Acknowledged', { exact: true }).waitFor();
    });
  });

  test('an answer that got lost: sent again, recorded once', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      const { page } = one;
      one.allow(/ERR_FAILED/);
      await one.open(`/inbox/${proposal.case.id}`);
      await page.route(`**/api/cases/${proposal.case.id}/decision`, async (route) => {
        await route.fetch();
        await route.abort();
      }, { times: 1 });
      await card(page).getByRole('button', { name: 'Approve' }).click();
      // The page must end in the correct state, whether or not the update arrives before the response.
      await card(page).getByRole('button', { name: 'Send again' }).or(card(page).getByText('Not yet acknowledged')).first().waitFor();
      const again = card(page).getByRole('button', { name: 'Send again' });
      // The notice disappears when the update arrives.
      if (await again.isVisible()) await again.click({ timeout: 3_000 }).catch(() => {});
      await again.waitFor({ state: 'detached' });
      await card(page).getByText('Not yet acknowledged').waitFor();
      const { entries } = await server.get('/api/ledger/entries?kind=decision&limit=200');
      assert.equal(entries.filter((entry) => JSON.stringify(entry.leaf).includes(proposal.case.id)).length, 1, 'one decision of this case in the ledger');
    });
  });

  test('two tabs race: the loser sees the decision that won', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      one.allow(/status of 409/);
      await visit(server, {}, async (other) => {
        other.allow(/status of 409/);
        await one.open(`/inbox/${proposal.case.id}`);
        await other.open(`/inbox/${proposal.case.id}`);
        const agent = agentFor(proposal.case.id);
        await other.page.getByRole('button', { name: 'Reject' }).first().click();
        await other.page.getByLabel(/^Reason/).fill('I was faster.');
        // The losing page gets no update before the response to its own request.
        await one.page.route(`**/api/cases/${proposal.case.id}`, (route) => route.abort());
        let release;
        const isHeld = new Promise((done) => (release = done));
        let isSent = false;
        await one.page.route(`**/api/cases/${proposal.case.id}/decision`, async (route) => {
          isSent = true;
          await isHeld;
          await route.continue();
        });
        one.allow(/ERR_FAILED/);
        await card(one.page).getByRole('button', { name: 'Approve' }).click();
        await until('the approval is under way', () => isSent);
        await other.page.locator('form').getByRole('button', { name: 'Reject' }).click();
        await card(other.page).getByText('Rejected').waitFor();
        await one.page.unroute(`**/api/cases/${proposal.case.id}`);
        release();
        await card(one.page).getByText('Already decided.').waitFor();
        await card(one.page).getByText('I was faster.').waitFor();
        await accessible(one.page, 'a lost race');
        assert.deepEqual((await agent.acknowledge()).decision, 'reject');
        for (const page of [one.page, other.page]) await card(page).getByText('Acknowledged', { exact: true }).waitFor();
      });
    });
  });

  test('a decision elsewhere ends the form that stands open', { timeout: LIMIT }, async () => {
    const proposal = await propose();
    await visit(server, {}, async (one) => {
      await visit(server, {}, async (other) => {
        await one.open(`/inbox/${proposal.case.id}`);
        await other.open(`/inbox/${proposal.case.id}`);
        await card(one.page).getByRole('button', { name: 'Modify' }).click();
        await one.page.getByLabel(/^berth/).fill('9');
        await card(other.page).getByRole('button', { name: 'Approve' }).click();
        await card(one.page).getByText('Approved').first().waitFor();
        assert.equal(await one.page.getByRole('button', { name: 'Approve with these arguments' }).count(), 0);
      });
    });
  });

  test('a case whose time runs out while it is looked at', { timeout: LIMIT }, async () => {
    const proposal = await propose({ expires_in_seconds: 4 });
    await visit(server, {}, async (one) => {
      const { page } = one;
      one.allow(/status of 410/);
      await one.open(`/inbox/${proposal.case.id}`);
      await card(page).getByText('The case expired, so nothing is done.').waitFor();
      assert.equal(await card(page).getByRole('button', { name: 'Approve' }).count(), 0);
      await accessible(page, 'an expired case');
      await until('the server says so, too', async () => (await server.get(`/api/cases/${proposal.case.id}`)).is_expired);
      await one.open('/inbox?status=lapsed');
      await page.getByRole('link', { name: proposal.content.title }).waitFor();
    });
  });

  test('the badge of a reply says what was checked', { timeout: LIMIT }, async () => {
    const taken = await server.post('/api/replies', envelope([table('Ships', ['ship'], [['Aurora']])]));
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open(`/r/${taken.id}`);
      await page.getByRole('link', { name: 'Verified by the server' }).click();
      await settled(page);
      const { checks, state } = await server.get(`/api/replies/${taken.id}/proof`);
      assert.equal(state, 'verified');
      assert.deepEqual(checks.map((check) => check.name), ['content', 'inclusion']);
      for (const check of checks) {
        const line = page.locator('.checks li', { has: page.getByText(check.name, { exact: true }) });
        await line.getByText('passed', { exact: true }).waitFor();
        await line.getByText(check.detail).waitFor();
      }
      await page.getByText('What you see is what was recorded').waitFor();
    });
  });
});
