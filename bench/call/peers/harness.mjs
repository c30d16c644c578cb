// What harness.py is to the Python peers: the failing calls, and how a call's CPU time is taken, in the same way.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROUNDS = 30;
const BATCH = 8;

const OUT = process.env.BENCH_CALL_OUT ?? 'target/bench-call/out';
const DATA = process.env.BENCH_CALL_DATA ?? 'target/bench-call/data';

/** The schemas by tool name, and the failing calls. */
export function failing() {
  const folder = join(DATA, 'bfcl-failing');
  const tools = JSON.parse(readFileSync(join(folder, 'tools.json'), 'utf8'));
  const lines = readFileSync(join(folder, 'calls.ndjson'), 'utf8').split('\n').filter(Boolean);
  return {
    tools: new Map(tools.map((tool) => [tool.name, tool.inputSchema])),
    calls: lines.map((line) => {
      const { id, tool, arguments: value } = JSON.parse(line);
      return { id, tool, arguments: value, text: JSON.stringify(value) };
    }),
  };
}

/** Times `answer` (a promise of a text, or of null where the peer lets the call pass) and prints the row. */
export async function runCalls(name, version, answer) {
  const { calls } = failing();
  const messages = [];
  for (const call of calls) messages.push({ id: call.id, message: await answer(call) });
  const lines = messages.map((message) => `${JSON.stringify(message)}\n`);
  writeFileSync(join(OUT, `${name}.messages.ndjson`), lines.join(''));
  const refused = calls.filter((_, place) => messages[place].message !== null);
  if (refused.length === 0) throw new Error('nothing was refused, so there is nothing to measure');
  const times = (await measure(answer, refused)).sort((one, other) => one - other);
  const row = {
    name,
    version,
    calls: times.length,
    p50_us: rounded(quantile(times, 0.5)),
    p99_us: rounded(quantile(times, 0.99)),
    mean_us: rounded(times.reduce((sum, time) => sum + time, 0) / times.length),
    passed: calls.length - refused.length,
  };
  process.stdout.write(`${JSON.stringify(row)}\n`);
}

/** Microseconds of CPU time for each input: the best round, warm. */
async function measure(work, inputs) {
  for (const input of inputs) await work(input);
  const best = inputs.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [place, input] of inputs.entries()) {
      // The clock of the process: this version of Node has none of the thread. The compiler and the collector run
      // beside it; the best round is one in which they rest.
      const before = process.cpuUsage();
      for (let turn = 0; turn < BATCH; turn += 1) await work(input);
      const { user, system } = process.cpuUsage(before);
      best[place] = Math.min(best[place], (user + system) / BATCH);
    }
  }
  return best;
}

/** The nearest rank: the smallest value that at least this share of the values does not exceed. */
function quantile(ordered, share) {
  return ordered[Math.max(Math.ceil(share * ordered.length) - 1, 0)];
}

function rounded(value) {
  return Math.round(value * 100) / 100;
}
