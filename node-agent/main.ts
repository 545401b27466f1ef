import { setFlagsFromString } from 'node:v8';
import type { Running } from '../src/lib/lifecycle.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeConfig } from './config.ts';
import { findFilesystem } from './filesystems/index.ts';
import { createMachine } from './machine.ts';
import { openRecords } from './records.ts';

/** Little is computed here, so that memory counts for more than speed: no optimizing compiler. */
const memoryFlags = ['--optimize-for-size', '--no-opt', '--no-maglev', '--no-sparkplug'];

/** Starts the node agent. What was mounted by an earlier one is served on, and nothing is touched by the start. */
export async function startNodeAgent(config: NodeConfig, log: Log): Promise<Running> {
  for (const flag of memoryFlags) setFlagsFromString(flag);
  // Loaded after the flags are set, so that they hold for all of gRPC.
  const [{ serve }, { loadNodeCsi }, { createIdentity }, { createNode }] = await Promise.all([
    import('../src/csi/server.ts'),
    import('../src/csi/protocol.ts'),
    import('../src/csi/identity.ts'),
    import('./node.ts'),
  ]);
  const { endpoint: socketPath, 'node-id': nodeId } = config;
  const host = createMachine({ timeoutMs: config['command-timeout'] });
  const defaultFilesystem = findFilesystem(config['default-fs']);
  if (!defaultFilesystem) throw new Error(`no filesystem "${config['default-fs']}"`);
  await host.makeDirectory(config['state-dir']);
  const records = await openRecords(`${config['state-dir']}/volumes`, host);
  const base = { named: config['kubelet-dir'], real: await host.realPath(config['kubelet-dir']) };
  const node = createNode(
    { host, records, base, defaultFilesystem },
    { nodeId, maxVolumes: config['max-volumes'] },
  );
  const { Identity, Node } = loadNodeCsi();
  const identity = createIdentity({ driverName: config['driver-name'], isReady: () => true });
  const server = await serve({
    socketPath,
    services: [
      { definition: Identity.service, handlers: identity },
      { definition: Node.service, handlers: node },
    ],
    log,
  });
  return { ready: { node: `unix://${socketPath}`, nodeId }, close: () => server.close() };
}
