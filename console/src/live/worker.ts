/** The shared worker: all tabs of this browser use its one connection, because a browser opens only six to a host. */

import { browserSurroundings, Connection } from './connection';
import type { FromPage, ToPage } from './protocol';

const ports = new Set<MessagePort>();
const connection = new Connection(browserSurroundings(), (message) => {
  for (const port of ports) port.postMessage(message);
});

function welcome(port: MessagePort): void {
  const tell = (message: ToPage): void => port.postMessage(message);
  if (ports.size === 0) connection.start();
  ports.add(port);
  tell({ type: 'standing', standing: connection.standing });
  if (connection.level) tell({ type: 'level', level: connection.level });
}

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  port.onmessage = (message: MessageEvent<FromPage>) => {
    if (message.data.type === 'leave') {
      ports.delete(port);
      if (ports.size === 0) connection.stop();
    } else if (!ports.has(port)) {
      // A page that the browser had frozen and brought back.
      welcome(port);
    } else {
      connection.retry();
    }
  };
  welcome(port);
});

addEventListener('online', () => connection.retry());
