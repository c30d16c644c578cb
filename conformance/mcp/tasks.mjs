// The tasks extension, which the SDK leaves to its users: calls that are answered with a task, and what becomes of one.

import { randomUUID } from 'node:crypto';
import { MissingRequiredClientCapabilityError, ProtocolError } from '@modelcontextprotocol/server';

export const EXTENSION = 'io.modelcontextprotocol/tasks';
const TTL = 60_000;
const tasks = new Map();
const text = words => ({ content: [{ type: 'text', text: words }] });
const form = (message, properties) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required: Object.keys(properties) } },
});

function declares(context) {
  const can = context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'];
  return can?.extensions?.[EXTENSION] !== undefined;
}

function demand(context) {
  if (declares(context)) return;
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [EXTENSION]: {} } } });
}

/** Waits, but no longer than until the task is cancelled. */
const pause = (seconds, task) =>
  new Promise(resolve => {
    const timer = setTimeout(resolve, seconds * 1000);
    task?.ended.then(() => (clearTimeout(timer), resolve()));
  });

/** A task that does `work`, which gives its result. */
function begun(work) {
  const now = new Date().toISOString();
  const facts = { status: 'working', createdAt: now, lastUpdatedAt: now, ttlMs: TTL, pollIntervalMs: 100 };
  const task = { facts: { taskId: randomUUID(), ...facts } };
  task.ended = new Promise(resolve => (task.end = resolve));
  task.turn = more => Object.assign(task.facts, more, { lastUpdatedAt: new Date().toISOString() });
  /** Asks the client, and gives its answers once all are there. */
  task.ask = inputRequests =>
    new Promise(resolve => {
      task.answers = {};
      task.answered = resolve;
      task.turn({ status: 'input_required', inputRequests });
    });
  tasks.set(task.facts.taskId, task);
  const created = { resultType: 'task', ...task.facts };
  const isRunning = () => task.facts.status !== 'cancelled';
  work(task).then(
    result => isRunning() && task.turn({ status: 'completed', result }),
    error => isRunning() && task.turn({ status: 'failed', error: { code: -32603, message: error.message } })
  );
  return created;
}

/** A tool whose call may be a task. */
const may = work => (taken, context) => (declares(context) ? begun(task => work(taken, task)) : work(taken));
/** A tool whose call has to be one. */
const must = work => (taken, context) => (demand(context), begun(task => work(taken, task)));
const taking = properties => ({ type: 'object', properties });
const NOTHING = taking({});
const string = { type: 'string' };

/** The tools that the suite looks for, by name: what they take, and what they do. */
export const taskTools = {
  greet: [taking({ name: string }), ({ name }) => text(`Hello, ${name}!`)],
  slow_compute: [
    taking({ seconds: { type: 'number' }, label: string }),
    may(async ({ seconds = 0, label }, task) => (await pause(seconds, task), text(`Computed ${label}.`))),
  ],
  failing_job: [NOTHING, must(async (_, task) => (await pause(1, task), { ...text('The job failed.'), isError: true }))],
  protocol_error_job: [
    NOTHING,
    must(async (_, task) => {
      await pause(0.2, task);
      throw new Error('The server broke.');
    }),
  ],
  confirm_delete: [
    taking({ filename: string }),
    must(async (_, task) => {
      const { confirm } = await task.ask({ confirm: form('Delete it?', { confirm: { type: 'boolean' } }) });
      return text(confirm.action === 'accept' ? 'Deleted.' : 'Kept.');
    }),
  ],
  multi_input: [
    NOTHING,
    must(async (_, task) => {
      await task.ask({ name: form('Your name?', { name: string }), colour: form('Your colour?', { colour: string }) });
      return text('Both were answered.');
    }),
  ],
  test_tool_with_task: [
    NOTHING,
    (_, context) => {
      const given = context.mcpReq.inputResponses?.user_name;
      if (given?.action !== 'accept') {
        return { resultType: 'input_required', inputRequests: { user_name: form('Your name?', { name: string }) } };
      }
      demand(context);
      return begun(async task => (await pause(0.2, task), text(`Hello, ${given.content.name}!`)));
    },
  ],
};

function known({ taskId }, context) {
  demand(context);
  const task = tasks.get(taskId);
  if (!task) throw new ProtocolError(-32602, `Unknown task: ${taskId}`);
  return task;
}

const METHODS = {
  'tasks/get': (params, context) => ({ ...known(params, context).facts }),
  'tasks/update': (params, context) => {
    const task = known(params, context);
    const pending = { ...task.facts.inputRequests };
    // The SDK takes them out of the parameters of every request.
    for (const [key, answer] of Object.entries(context.mcpReq.inputResponses ?? {})) {
      if (key in pending) task.answers[key] = answer;
      delete pending[key];
    }
    if (task.facts.status !== 'input_required') return {};
    if (Object.keys(pending).length > 0) return (task.turn({ inputRequests: pending }), {});
    delete task.facts.inputRequests;
    task.turn({ status: 'working' });
    task.answered(task.answers);
    return {};
  },
  'tasks/cancel': (params, context) => {
    const task = known(params, context);
    if (['working', 'input_required'].includes(task.facts.status)) {
      delete task.facts.inputRequests;
      task.turn({ status: 'cancelled' });
      task.end();
    }
    return {};
  },
};

/** Has a server answer what is asked about tasks. */
export function serveTasks(server) {
  const params = { '~standard': { version: 1, vendor: 'answerback', validate: value => ({ value }) } };
  for (const [method, answer] of Object.entries(METHODS)) {
    server.setRequestHandler(method, { params }, answer);
  }
}
