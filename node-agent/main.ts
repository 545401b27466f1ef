import { createIdentity } from '../src/csi/identity.ts';
import { loadNodeCsi } from '../src/csi/protocol.ts';
import { serve } from '../src/csi/server.ts';
import type { Running } from '../src/lib/lifecycle.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeConfig } from './config.ts';
import { findFilesystem } from './filesystems/index.ts';
import type { Host } from './host.ts';
import { createMachine } from './machine.ts';
import { createNode } from './node.ts';
import { openRecords } from './records.ts';

/** Starts the node agent. What was mounted by an earlier one is served on, and nothing is touched by the start. */
export async function startNodeAgent(config: NodeConfig, log: Log): Promise<Running> {
  const { endpoint: socketPath, 'node-id': nodeId } = config;
  const host = createMachine({ timeoutMs: config['command-timeout'] });
  const defaultFilesystem = findFilesystem(config['default-fs']);
  if (!defaultFilesystem) throw new Error(`no filesystem "${config['default-fs']}"`);
  await host.makeDirectory(config['state-dir']);
  const records = await openRecords(`${config['state-dir']}/volumes`, host);
  const base = { named: config['kubelet-dir'], real: await resolveBase(config['kubelet-dir'], host) };
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

/** Kubelet's directory without symbolic links; where kubelet has not made it yet, as it is named. */
async function resolveBase(path: string, host: Host): Promise<string> {
  try {
    return await host.realPath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
    throw error;
  }
}
