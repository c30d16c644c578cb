// The server that the official suite is run against, by itself and behind us: the TypeScript SDK with `catalogue.mjs`.
//
//   node server.mjs stdio        both eras on standard input and output
//   node server.mjs http PORT    both eras at http://127.0.0.1:PORT/mcp
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import {
  InMemoryServerEventBus,
  ProtocolError,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isInitializeRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { prompts, resources, templated, tools } from './catalogue.mjs';
import { EXTENSION, serveTasks, taskTools } from './tasks.mjs';

const codec = createRequestStateCodec({ key: randomBytes(32) });
const bus = new InMemoryServerEventBus();
// On standard output there is one connection, whose server says what changed; over HTTP the bus does.
let connected;
const own = tools(codec, {
  toolsChanged: () => (connected ? connected.sendToolListChanged() : bus.publish({ kind: 'tools_list_changed' })),
  promptsChanged: () => (connected ? connected.sendPromptListChanged() : bus.publish({ kind: 'prompts_list_changed' })),
});
const toolbox = { ...own, ...taskTools };

/** A server for one request or one connection. */
function made() {
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true },
    completions: {},
    logging: {},
    extensions: { [EXTENSION]: {} },
  };
  const hint = { ttlMs: 1000, cacheScope: 'public' };
  const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read'];
  const server = new Server(
    { name: 'answerback-conformance', version: '1.0.0' },
    {
      capabilities,
      requestState: { verify: codec.verify },
      cacheHints: Object.fromEntries(lists.map(method => [method, hint])),
    }
  );
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(toolbox).map(([name, [inputSchema]]) => ({ name, description: `Does ${name}.`, inputSchema })),
  }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = toolbox[params.name];
    if (!tool) throw new ProtocolError(-32602, `Unknown tool: ${params.name}`);
    return tool[1](params.arguments ?? {}, context);
  });
  server.setRequestHandler('resources/list', () => ({
    resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, description: uri, mimeType })),
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const found = resources[uri] ?? templated(uri);
    if (!found) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, ...found }] };
  });
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(prompts).map(([name, [taken]]) => ({
      name,
      description: `Says ${name}.`,
      arguments: taken.map(it => ({ name: it, description: it, required: true })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const prompt = prompts[params.name];
    if (!prompt) throw new ProtocolError(-32602, `Unknown prompt: ${params.name}`);
    const said = prompt[1](params.arguments ?? {}, context);
    return Array.isArray(said) ? { messages: said } : said;
  });
  server.setRequestHandler('completion/complete', ({ params }) => {
    const values = ['paris', 'park', 'party'].filter(it => it.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  serveTasks(server);
  return server;
}

/** What was said in a session, for a client that comes back to a stream. */
function kept() {
  const events = [];
  return {
    storeEvent: async (stream, message) => `${events.push({ stream, message })}`,
    getStreamIdForEventId: async id => events[id - 1]?.stream,
    replayEventsAfter: async (id, { send }) => {
      const { stream } = events[id - 1];
      for (const [place, event] of events.entries()) {
        // What has no method and no id only says where a stream began.
        const isMessage = event.message.method !== undefined || event.message.id !== undefined;
        if (place >= id && event.stream === stream && isMessage) await send(`${place + 1}`, event.message);
      }
      return stream;
    },
  };
}

/** The refusal of a call in the new era whose `Mcp-Param-` headers do not say what its arguments say. */
async function refusal(request) {
  const { id, method, params } = await request.clone().json().catch(() => ({}));
  const schema = method === 'tools/call' && toolbox[params?.name]?.[0];
  for (const [name, { 'x-mcp-header': header }] of Object.entries(schema?.properties ?? {})) {
    const given = params.arguments?.[name];
    if (!header || given === undefined) continue;
    const value = request.headers.get(`Mcp-Param-${header}`);
    const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? '')?.[1];
    const decoded = encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
    const isSpeltRight = encoded === undefined || Buffer.from(decoded).toString('base64') === encoded;
    if (!isSpeltRight || decoded !== String(given)) {
      const error = { code: -32020, message: `Mcp-Param-${header} does not match '${name}'` };
      return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 });
    }
  }
}

/** Serves the old era, a session a client, and the new, which has none. */
function serveHttp(port) {
  const modern = createMcpHandler(made, { legacy: 'reject', bus });
  const sessions = new Map();

  async function legacy(request) {
    const known = sessions.get(request.headers.get('mcp-session-id'));
    if (known) return known.handleRequest(request);
    const parsedBody = request.method === 'POST' ? await request.clone().json() : undefined;
    if (!isInitializeRequest(parsedBody)) {
      const status = request.headers.has('mcp-session-id') ? 404 : 400;
      return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'No such session' } }, { status });
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: kept(),
      retryInterval: 200,
      onsessioninitialized: id => void sessions.set(id, transport),
      onsessionclosed: id => void sessions.delete(id),
    });
    await made().connect(transport);
    return transport.handleRequest(request, { parsedBody });
  }

  createServer(async (incoming, outgoing) => {
    const request = new Request(`http://127.0.0.1:${port}${incoming.url}`, {
      method: incoming.method,
      headers: Object.entries(incoming.headers).flatMap(([name, value]) => [value].flat().map(it => [name, it])),
      body: incoming.method === 'POST' ? Readable.toWeb(incoming) : undefined,
      duplex: 'half',
    });
    const response =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      ((await isLegacyRequest(request)) ? await legacy(request) : ((await refusal(request)) ?? (await modern.fetch(request))));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (!response.body) return outgoing.end();
    const body = Readable.fromWeb(response.body);
    // A client that hangs up is no fault of ours.
    body.on('error', () => outgoing.destroy());
    outgoing.on('close', () => body.destroy());
    body.pipe(outgoing);
  }).listen(port, '127.0.0.1', () => console.error(`listening on ${port}`));
}

const [face, port] = process.argv.slice(2);
if (face === 'http') {
  serveHttp(Number(port));
} else {
  serveStdio(() => (connected = made()));
}
