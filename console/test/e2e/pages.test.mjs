// Tests every page and artifact type: content, policy, accessibility in light and dark, phone, zoom, forced colors.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, axe, closeBrowser, excessWidth, LIMIT, Server, settled, until, visit } from './harness.mjs';

let server;
let replies;

before(async () => {
  server = await Server.start({ isDemo: true });
  // The demo has created its static content; its stream continues meanwhile.
  await until('the demo has played', async () => {
    const { streams } = await server.get('/api/streams');
    return (streams[0]?.events ?? 0) >= 6;
  }, 60_000);
  ({ replies } = await server.get('/api/replies?limit=200'));
}, { timeout: LIMIT });

after(async () => {
  await closeBrowser();
  await server?.stop();
});

const reply = (words) => {
  const row = replies.find((one) => one.summary.startsWith(words));
  assert.ok(row, `the demo has a reply "${words}"`);
  return row;
};
const address = (row) => `/r/${row.id ?? row.index}`;
const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor({ state: 'attached' });
const text = (page, words) => page.locator('main').getByText(words).filter({ visible: true }).first().waitFor();

const PAGES = [
  { name: 'inbox', path: () => '/inbox', see: async (page) => { await heading(page, 'Inbox'); await text(page, 'Move the Aurora to berth 4'); await text(page, 'Which ship has precedence'); await text(page, 'validate_password_strength is blocked'); } },
  { name: 'a proposal', path: async () => `/inbox/${await caseOf('proposal')}`, see: async (page) => { await page.getByRole('heading', { name: 'Move the Aurora to berth 4' }).waitFor(); await page.getByRole('button', { name: 'Approve' }).waitFor(); await text(page, 'The crew of the Aurora is called back'); await text(page, 'Verified by the server'); } },
  { name: 'a question', path: async () => `/inbox/${await caseOf('question')}`, see: async (page) => { await page.getByRole('button', { name: 'Borealis (perishable)' }).waitFor(); await page.getByLabel('Or answer in your own words').waitFor(); } },
  { name: 'an escalation', path: async () => `/inbox/${await caseOf('escalation')}`, see: async (page) => { await page.getByRole('button', { name: 'Correct arguments' }).waitFor(); await page.getByRole('button', { name: 'Guide the model' }).waitFor(); } },
  { name: 'inbox without decided cases', path: () => '/inbox?status=decided', see: (page) => text(page, 'Nothing was decided yet') },
  { name: 'replies', path: () => '/replies', see: async (page) => { await heading(page, 'Replies'); await text(page, 'The morning in one reply'); await text(page, 'This is the first reply on record.'); } },
  { name: 'replies without a hit', path: () => '/replies?text=nothing-has-these-words', see: (page) => text(page, 'No reply fits these filters') },
  { name: 'bundle', path: () => address(reply('The morning in one')), see: async (page) => { await heading(page, /^The morning in one reply/); await text(page, 'Gothenburg'); await text(page, '5 signals'); } },
  { name: 'findings of a rejected reply', path: () => `${address(replies.find((one) => one.kind === 'rejected'))}?tab=findings`, see: (page) => page.getByRole('tab', { name: /Findings/, selected: true }).waitFor() },
  { name: 'provenance of a reply', path: () => `${address(reply('The morning in one'))}?tab=proof`, see: (page) => text(page, 'Verify it yourself') },
  { name: 'JSON of a reply', path: () => `${address(reply('The morning in one'))}?tab=json`, see: (page) => page.getByLabel('Contract').waitFor() },
  { name: 'parts of a reply', path: () => `${address(reply('The morning in one'))}?tab=parts`, see: (page) => page.getByRole('tab', { name: /Parts/, selected: true }).waitFor() },
  { name: 'request of a call', path: () => `${address(replies.find((one) => one.tool === 'validate_date_range' && one.kind === 'response'))}?tab=request`, see: (page) => text(page, 'Call as sent by the model') },
  { name: 'hostile reply', path: () => address(reply('<script>')), see: (page) => text(page, 'Links and images') },
  { name: 'artifact full view', path: () => `${address(reply('The morning in one'))}/a/0`, see: async (page) => { await heading(page, 'Arrivals this week'); await text(page, 'Felixstowe'); await text(page, '1 of 4'); } },
  { name: 'no such reply', path: () => '/r/999999', see: (page) => text(page, 'This reply was not found'), allow: /status of 404/ },
  { name: 'live', path: () => '/live', see: async (page) => { await heading(page, 'Live'); await text(page, 'berth-watch'); } },
  { name: 'stream', path: () => '/live/berth-watch', see: async (page) => { await heading(page, 'berth-watch'); await text(page, 'Watching nine berths.'); await text(page, 'Aurora at berth 1'); await page.getByRole('region', { name: 'Raw event log' }).waitFor(); } },
  { name: 'tools', path: () => '/tools', see: async (page) => { await heading(page, 'Tools'); await text(page, 'validate_password_strength'); await text(page, 'Hot spots'); } },
  { name: 'tool', path: () => '/tools/harbour/validate_email', see: async (page) => { await heading(page, /./); await page.getByLabel('Arguments as JSON').waitFor(); } },
  { name: 'agents', path: () => '/agents', see: async (page) => { await heading(page, 'Agents'); await text(page, 'domains/harbour.prompt.md'); await text(page, 'As locked'); } },
  { name: 'ledger', path: () => '/ledger', see: async (page) => { await heading(page, 'Ledger'); await page.getByRole('heading', { name: 'Checkpoint' }).waitFor(); await page.locator('main a[href="/ledger/0"], main button:has-text("Load more")').first().waitFor(); } },
  { name: 'entry', path: () => `/ledger/${reply('The morning in one').index}`, see: async (page) => { await heading(page, /^Entry \d+$/); await text(page, 'passed'); } },
  { name: 'playground', path: () => '/playground', see: async (page) => { await heading(page, 'Playground'); await text(page, 'Valid'); await page.locator('main article').first().waitFor(); } },
  { name: 'settings', path: () => '/settings', see: async (page) => { await heading(page, 'Settings'); await text(page, 'This browser'); await page.getByRole('button', { name: 'Lock this browser' }).waitFor(); } },
];

// Text that only the completely rendered view contains.
const KINDS = [
  { kind: 'table', words: 'Eight ports answered', see: async (page) => { await page.getByRole('grid').waitFor(); await text(page, 'Bremerhaven'); } },
  { kind: 'chart', words: 'Berth use rises', see: async (page) => { await page.locator('main canvas').first().waitFor(); assert.equal(await page.locator('main canvas').count(), 3); } },
  { kind: 'document', words: 'Why three ships', see: async (page) => { await page.locator('main strong', { hasText: 'late' }).first().waitFor(); await text(page, 'Earlier pilot'); } },
  { kind: 'code_block', words: 'The rule that calls', see: (page) => text(page, 'A ship is late an hour after its slot.') },
  { kind: 'timeline', words: 'Eight ports asked', see: (page) => text(page, 'Gdansk did not answer') },
  { kind: 'file_reference', words: 'The arrivals as a file', see: async (page) => { await page.getByRole('button', { name: 'Preview' }).click(); await text(page, 'Rotterdam'); } },
  // A number beyond JavaScript's precision keeps all its digits.
  { kind: 'json_data', words: "What the harbour's service", see: (page) => text(page, '12345678901234567890') },
  { kind: 'mission_draft', words: 'May I move the Aurora', see: (page) => text(page, 'The crew of the Aurora is called back') },
  { kind: 'signal_batch', words: 'Five signals on four layers', see: (page) => text(page, 'delay_expected') },
];

async function caseOf(kind) {
  const { cases } = await server.get(`/api/cases?status=all&kind=${kind}`);
  assert.ok(cases[0], `the demo has a case of kind ${kind}`);
  return cases[0].case.id;
}

/** Checks the same page at every size and in every medium. */
async function inEveryMedium(one, path, see) {
  const { page } = one;
  await one.open(path);
  await see(page);
  await accessible(page, path);
  for (const [width, height] of [[390, 844], [320, 256]]) {
    await page.setViewportSize({ width, height });
    await settled(page);
    assert.ok((await excessWidth(page)) <= 0, `no sideways scrolling of ${path} at ${width} px, but ${await excessWidth(page)} px too wide`);
    if (width === 390) assert.deepEqual(await axe(page), [], `axe on a phone on ${path}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  await one.open(path);
  await see(page);
  await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'no-preference' });
}

describe('pages', () => {
  for (const { name, path, see, allow } of PAGES) {
    test(name, { timeout: LIMIT }, async () => {
      await visit(server, {}, async (one) => {
        if (allow) one.allow(allow);
        await inEveryMedium(one, await path(), see);
      });
    });
  }

  test('unlock', { timeout: LIMIT }, async () => {
    await visit(server, { isLocked: true }, async (one) => {
      // The browser logs the expected 401 of the session check by itself.
      one.allow(/status of 401/);
      await inEveryMedium(one, '/', async (page) => {
        await heading(page, 'This console needs its launch link');
        await page.getByLabel('Link or token').waitFor();
        await page.getByText('answerback link').waitFor();
      });
    });
  });

  test('shortcuts dialog', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      await one.open('/replies');
      await one.page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
      await one.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await accessible(one.page, 'the shortcuts');
    });
  });

  test('a call tried by hand, wrong and then right', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/tools/harbour/validate_date_range');
      const editor = page.getByLabel('Arguments as JSON');
      await editor.fill('{"start_date": "2026-03-04T08:00:00Z", "end_date": 7}');
      await page.getByRole('button', { name: 'Check' }).click();
      await text(page, 'Fails');
      await text(page, '/end_date');
      await text(page, 'Message to the model');
      await accessible(page, 'a call that fails');
      await editor.fill('{"start_date": ');
      await page.locator('[aria-invalid="true"]').waitFor();
      assert.ok(await page.getByRole('button', { name: 'Check' }).isDisabled());
      await editor.fill('{"start_date": "2026-03-04T08:00:00Z", "end_date": "2026-03-07T18:00:00Z"}');
      await page.getByRole('button', { name: 'Check' }).click();
      await text(page, 'It would be sent');
      await accessible(page, 'a call that passes');
    });
  });

  test('the ledger verified by a click', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      await one.open('/ledger');
      await one.page.getByRole('button', { name: /^Verify/ }).first().click();
      await one.page.locator('section', { hasText: 'level by level' }).getByText(/signatures/i).first().waitFor();
      await accessible(one.page, 'a verified ledger');
    });
  });

  test('every tab of the playground, and a broken document', { timeout: LIMIT }, async () => {
    await visit(server, {}, async (one) => {
      const { page } = one;
      await one.open('/playground?example=bundle');
      await page.locator('main article').first().waitFor();
      for (const name of ['Terminal', 'Findings', 'Conversions']) {
        await page.getByRole('tab', { name }).click();
        await settled(page);
        await accessible(page, `playground, ${name}`);
      }
      await page.getByLabel('Document as JSON').fill('{"response_type": 7}');
      await text(page, 'Not valid');
      await page.getByRole('tab', { name: 'Findings' }).click();
      await accessible(page, 'findings of a broken document');
    });
  });
});

describe('artifact kinds', () => {
  for (const { kind, words, see } of KINDS) {
    test(kind, { timeout: LIMIT }, async () => {
      const row = reply(words);
      assert.ok(row.artifacts[kind] > 0, `${words} has a ${kind}`);
      await visit(server, {}, async (one) => {
        const { page } = one;
        await inEveryMedium(one, address(row), see);
        for (const name of ['Data', 'JSON', 'Provenance', 'View']) {
          await page.locator('article').first().getByRole('tab', { name, exact: true }).click();
          await page.getByRole('tabpanel', { name }).last().waitFor();
          await settled(page);
          assert.deepEqual(await axe(page), [], `axe on ${kind}, ${name}`);
        }
        await one.open(`${address(row)}/a/0`);
        await page.locator('article.full').waitFor();
        await accessible(page, `${kind} in full view`);
      });
    });
  }
});
