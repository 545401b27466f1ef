import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { CleanupScope } from './temporary.ts';

/**
 * Listens on a free port of loopback and returns `127.0.0.1:PORT`. The server closes with the test, and one of HTTP
 * then cuts its connections.
 */
export async function listen(t: CleanupScope, server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.close();
    if ('closeAllConnections' in server) (server.closeAllConnections as () => void)();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
