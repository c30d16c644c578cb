// What the official suite asks a server to have: tools, resources and prompts by the names that it looks for.

import { MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const NOTHING = { type: 'object', properties: {} };
const text = words => ({ type: 'text', text: words });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const told = (...content) => ({ content });
const pause = () => new Promise(resolve => setTimeout(resolve, 50));
const form = (message, properties, required) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
});
const asked = (inputRequests, requestState) => ({ resultType: 'input_required', inputRequests, requestState });
const accepted = (context, key) => {
  const answer = context.mcpReq.inputResponses?.[key];
  return answer?.action === 'accept' ? answer.content : undefined;
};
const string = { type: 'string' };
const name = () => form('What is your name?', { name: string }, ['name']);
const sampled = (words, maxTokens) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(words) }], maxTokens },
});
const rooted = { method: 'roots/list', params: {} };
// Which kind of question a client must have said that it can be asked.
const KINDS = { 'elicitation/create': 'elicitation', 'sampling/createMessage': 'sampling', 'roots/list': 'roots' };
const able = (context, questions) => {
  const can = context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
  return Object.fromEntries(Object.entries(questions).filter(([, it]) => can[KINDS[it.method]] !== undefined));
};

/**
 * The tools, by name: what they take, and what they do. `codec` seals the state of calls that ask back, `notify` tells
 * those who listen that a list changed.
 */
export const tools = (codec, notify) => ({
  test_simple_text: [NOTHING, () => told(text('This is a simple text response for testing.'))],
  test_image_content: [NOTHING, () => told(image)],
  test_audio_content: [NOTHING, () => told({ type: 'audio', data: SILENCE, mimeType: 'audio/wav' })],
  test_embedded_resource: [
    NOTHING,
    () =>
      told({
        type: 'resource',
        resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
      }),
  ],
  test_multiple_content_types: [
    NOTHING,
    () =>
      told(text('Multiple content types test:'), image, {
        type: 'resource',
        resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' },
      }),
  ],
  test_tool_with_logging: [
    NOTHING,
    async (_, context) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await context.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
        await pause();
      }
      return told(text('Logged three times.'));
    },
  ],
  test_tool_with_progress: [
    NOTHING,
    async (_, context) => {
      const progressToken = context.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100 };
          await context.mcpReq.notify({ method: 'notifications/progress', params });
        }
        await pause();
      }
      return told(text('Progress reported.'));
    },
  ],
  test_error_handling: [
    NOTHING,
    () => ({ ...told(text('This tool intentionally returns an error for testing')), isError: true }),
  ],
  test_sampling: [
    { type: 'object', properties: { prompt: string }, required: ['prompt'] },
    async ({ prompt }, context) => {
      const answer = await context.mcpReq.send(sampled(prompt, 100));
      return told(text(`LLM response: ${answer.content.text}`));
    },
  ],
  test_elicitation: [
    { type: 'object', properties: { message: string }, required: ['message'] },
    async ({ message }, context) => {
      const answer = await context.mcpReq.send(form(message, { username: string, email: string }, ['username', 'email']));
      return told(text(`User response: ${JSON.stringify(answer)}`));
    },
  ],
  test_elicitation_sep1034_defaults: [NOTHING, (_, context) => elicited(context, DEFAULTS)],
  test_elicitation_sep1330_enums: [NOTHING, (_, context) => elicited(context, ENUMS)],
  test_custom_header: [
    { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } }, required: ['region'] },
    ({ region }) => told(text(`In ${region}.`)),
  ],
  json_schema_2020_12_tool: [SCHEMA_2020_12, () => told(text('Taken.'))],
  test_missing_capability: [
    NOTHING,
    (_, context) => {
      if (context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities']?.sampling === undefined) {
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      }
      return told(text('The client can sample.'));
    },
  ],
  test_streaming_elicitation: [NOTHING, () => asked({ user_name: name() })],
  test_logging_tool: [
    NOTHING,
    async (_, context) => {
      await context.mcpReq.log('info', 'Only for those who asked.');
      return told(text('Logged.'));
    },
  ],
  test_reconnection: [
    NOTHING,
    async (_, context) => {
      // On pipes there is no stream to close; whoever is in between may have one.
      context.http?.closeSSE?.();
      await new Promise(resolve => setTimeout(resolve, 1500));
      return told(text('Come back for.'));
    },
  ],
  test_trigger_tool_change: [NOTHING, () => (notify.toolsChanged(), told(text('Told.')))],
  test_trigger_prompt_change: [NOTHING, () => (notify.promptsChanged(), told(text('Told.')))],
  test_input_required_result_elicitation: [
    NOTHING,
    (_, context) => {
      const given = accepted(context, 'user_name')?.name;
      return typeof given === 'string' ? told(text(`Hello, ${given}!`)) : asked({ user_name: name() });
    },
  ],
  test_input_required_result_sampling: [
    NOTHING,
    (_, context) => {
      const given = context.mcpReq.inputResponses?.capital_question?.content;
      return given ? told(text(given.text)) : asked({ capital_question: sampled('What is the capital of France?', 100) });
    },
  ],
  test_input_required_result_list_roots: [
    NOTHING,
    (_, context) => {
      const given = context.mcpReq.inputResponses?.client_roots?.roots;
      return given ? told(text(given.map(root => root.uri).join(' '))) : asked({ client_roots: rooted });
    },
  ],
  test_input_required_result_request_state: [NOTHING, (_, context) => confirmed(context, codec)],
  test_input_required_result_tampered_state: [NOTHING, (_, context) => confirmed(context, codec)],
  test_input_required_result_multiple_inputs: [
    NOTHING,
    async (_, context) => {
      const questions = { user_name: name(), greeting: sampled('Generate a greeting', 50), client_roots: rooted };
      const given = context.mcpReq.inputResponses ?? {};
      if (context.mcpReq.requestState() && Object.keys(questions).every(key => key in given)) {
        return told(text('All three were answered.'));
      }
      return asked(questions, await codec.mint({ step: 1 }));
    },
  ],
  test_input_required_result_multi_round: [
    NOTHING,
    async (_, context) => {
      const step = context.mcpReq.requestState()?.step;
      if (step === 2 && accepted(context, 'step2')) {
        return told(text('Both steps were answered.'));
      }
      if (step === 1 && accepted(context, 'step1')) {
        const question = form('Step 2: What is your favorite color?', { color: string }, ['color']);
        return asked({ step2: question }, await codec.mint({ step: 2 }));
      }
      const question = form('Step 1: What is your name?', { name: string }, ['name']);
      return asked({ step1: question }, await codec.mint({ step: 1 }));
    },
  ],
  test_input_required_result_capabilities: [
    NOTHING,
    (_, context) => {
      const questions = able(context, { user_name: name(), greeting: sampled('Generate a greeting', 50) });
      const isAnswered = Object.keys(questions).every(key => key in (context.mcpReq.inputResponses ?? {}));
      return isAnswered ? told(text('Nothing is left to ask.')) : asked(questions);
    },
  ],
});

async function elicited(context, properties) {
  const answer = await context.mcpReq.send(form('Please fill in the form', properties, []));
  return told(text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`));
}

async function confirmed(context, codec) {
  if (context.mcpReq.requestState()?.confirm && accepted(context, 'confirm')) {
    return told(text('state-ok'));
  }
  const question = form('Please confirm', { ok: { type: 'boolean' } }, ['ok']);
  return asked({ confirm: question }, await codec.mint({ confirm: true }));
}

// A schema with what the revision 2020-12 brought: the suite looks whether its keywords cross.
const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } } },
  properties: {
    name: string,
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: string,
    email: string,
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const OPTIONS = ['option1', 'option2', 'option3'];
const titled = word => [1, 2, 3].map(number => ({ const: `value${number}`, title: `${word} ${number}` }));
const ENUMS = {
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
};

/** The resources, by address. */
export const resources = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
  'test://watched-resource': { mimeType: 'text/plain', text: 'This is watched.' },
};

/** A resource of the template. */
export function templated(uri) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return id && { mimeType: 'application/json', text: JSON.stringify(data) };
}

const user = content => ({ role: 'user', content });

/** The prompts, by name: their arguments, and what they say. */
export const prompts = {
  test_simple_prompt: [[], () => [user(text('This is a simple prompt for testing.'))]],
  test_prompt_with_arguments: [
    ['arg1', 'arg2'],
    ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  ],
  test_prompt_with_embedded_resource: [
    ['resourceUri'],
    ({ resourceUri: uri }) => [
      user({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
      user(text('Please process the embedded resource above.')),
    ],
  ],
  test_prompt_with_image: [[], () => [user(image), user(text('Please analyze the image above.'))]],
  test_input_required_result_prompt: [
    [],
    (_, context) => {
      const given = accepted(context, 'user_context')?.context;
      const question = form('What context should the prompt use?', { context: string }, ['context']);
      return given ? [user(text(`In the context of ${given}.`))] : asked({ user_context: question });
    },
  ],
};
