import { createServer } from 'node:net';
import { isSocketAnswered } from '../src/csi/socket.ts';
import type { Host } from './host.ts';

/**
 * Makes this agent the only one on its state directory, for as long as it runs: two would overwrite each other's
 * records. Throws one line when another agent is there; one that was killed is not.
 */
export async function becomeOnlyAgent(stateDirectory: string, host: Host): Promise<void> {
  const path = `${stateDirectory}/lock`;
  if (await isSocketAnswered(path))
    throw new Error(`state directory "${stateDirectory}" is in use by a live agent`);
  await host.removeFile(path);
  const server = createServer(socket => socket.destroy()).unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(path, resolve);
  });
}
