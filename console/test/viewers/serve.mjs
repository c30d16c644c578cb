// Builds the viewers' page for production and serves it with the console's content security policy.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { extname, join, normalize } from 'node:path';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html answerback-worker";
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const FILE = 'Quote,Author,Likes\r\n"Be yourself, always",Oscar Wilde,3120\r\n=1+1,Mallory,-5\r\n';

/** Returns the page's address and a function that stops the server. */
export async function serve(outDir = '/tmp/answerback-viewers') {
  await build({
    root: here,
    configFile: false,
    logLevel: 'warn',
    plugins: [svelte({ configFile: false, compilerOptions: { runes: true } })],
    build: { outDir, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  });
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    if (pathname.endsWith('/file/state')) {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ state: 'available', size: FILE.length, sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', media_type: 'text/csv', preview: 'csv', solution: null }));
    }
    if (pathname.endsWith('/file')) return response.end(FILE);
    const path = normalize(pathname === '/' ? '/index.html' : pathname);
    try {
      const body = await readFile(join(outDir, path));
      response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
      response.setHeader('content-security-policy', POLICY);
      response.end(body);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
