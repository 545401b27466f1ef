import { once } from 'node:events';
import { createServer } from 'node:net';
import { createKeyedQueue } from '../../../src/lib/concurrency.ts';
import { codeOf } from '../../backends/local/files.ts';

/** Two that ask at a time would be in each other's way. */
const inTurn = createKeyedQueue();

/** The system's code of why nobody can listen there now, such as EADDRINUSE; port 0 is any. */
export function findListenFault(host: string, port: number): Promise<string | undefined> {
  return inTurn(String(port), async () => {
    await using server = createServer();
    return await once(server.listen(port, host), 'listening').then(() => undefined, codeOf);
  });
}
