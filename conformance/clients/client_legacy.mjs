// Drives a server with the TypeScript SDK before version 2.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { drive, target } from './drive.mjs';

const client = new Client({ name: 'clients', version: '1.0.0' });
const headers = { Authorization: `Bearer ${target.token}` };
await client.connect(
  target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } })
    : new StdioClientTransport(target)
);
await drive(client);
