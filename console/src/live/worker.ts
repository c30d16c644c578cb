/** The shared worker. All tabs share its connection, because a browser opens only six per host. */

import { browserEnvironment, Connection } from './connection';
import type { PageRequest, WorkerMessage } from './protocol';

const ports = new Set<MessagePort>();
const connection = new Connection(browserEnvironment(), (message) => {
  for (const port of ports) port.postMessage(message);
});

function registerPort(port: MessagePort): void {
  const send = (message: WorkerMessage): void => port.postMessage(message);
  if (ports.size === 0) connection.start();
  ports.add(port);
  send({ type: 'connectionState', connectionState: connection.connectionState });
  if (connection.counts) send({ type: 'counts', counts: connection.counts });
}

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  port.onmessage = (message: MessageEvent<PageRequest>) => {
    if (message.data.type === 'leave') {
      ports.delete(port);
      if (ports.size === 0) connection.stop();
    } else if (!ports.has(port)) {
      // The browser froze this page and restored it.
      registerPort(port);
    } else {
      connection.retry();
    }
  };
  registerPort(port);
});

addEventListener('online', () => connection.retry());
