// Drives a server with the TypeScript SDK from version 2 on, which looks for the newest revision that the server speaks.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { drive, target } from './drive.mjs';

const client = new Client({ name: 'clients', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
const headers = { Authorization: `Bearer ${target.token}` };
await client.connect(
  target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } })
    : new StdioClientTransport(target)
);
await drive(client);
