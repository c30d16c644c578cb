// Vercel AI SDK: the text that `generateText` answers an invalid tool call with. The call's text is parsed and
// validated by the zod schema of the tool, and the failure is worded by `InvalidToolInputError`, as in its
// `parseToolCall`, which is not exported.

import { createRequire } from 'node:module';
import { safeParseJSON } from '@ai-sdk/provider-utils';
import { asSchema, InvalidToolInputError } from 'ai';
import { z } from 'zod';
import { failing, runCalls } from './harness.mjs';

const { version } = createRequire(import.meta.url)('ai/package.json');
const { tools } = failing();
const schemas = new Map([...tools].map(([name, schema]) => [name, asSchema(z.fromJSONSchema(schema))]));

async function answer(call) {
  const parsed = await safeParseJSON({ text: call.text, schema: schemas.get(call.tool) });
  if (parsed.success) return null;
  return new InvalidToolInputError({ toolName: call.tool, toolInput: call.text, cause: parsed.error }).message;
}

await runCalls('AI SDK', version, answer);
