// Passes HTTP on with our token, which the official suite has no option for: `node bearer.mjs PORT TO TOKEN`. Everything
// else crosses as it came, Host and Origin too, because the suite looks whether they are checked.
import { createServer, request } from 'node:http';

const [port, to, token] = process.argv.slice(2);
const target = new URL(to);
createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, ...(token && { authorization: `Bearer ${token}` }) };
  const options = { host: target.hostname, port: target.port, path: target.pathname, method: incoming.method, headers };
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
