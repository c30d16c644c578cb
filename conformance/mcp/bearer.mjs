// Passes HTTP on with our token, which the official suite has no option for: `node bearer.mjs PORT TO TOKEN`. Everything
// else crosses as it came. The suite looks whether Host and Origin are checked, so of them only our own port is replaced.
import { createServer, request } from 'node:http';

const [port, to, token] = process.argv.slice(2);
const target = new URL(to);
createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, ...(token && { authorization: `Bearer ${token}` }) };
  for (const name of ['host', 'origin']) {
    if (headers[name]) headers[name] = headers[name].replace(`:${port}`, `:${target.port}`);
  }
  // A connection a request: one that the other side just closed is no verdict about it.
  const options = { agent: false, hostname: target.hostname, port: target.port, path: target.pathname, headers };
  options.method = incoming.method;
  const passed = request(options, answer => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    outgoing.flushHeaders();
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
  });
  passed.setNoDelay(true);
  passed.on('error', () => outgoing.destroy());
  outgoing.on('close', () => passed.destroy());
  incoming.pipe(passed);
}).listen(Number(port), '127.0.0.1', () => console.error('ready'));
