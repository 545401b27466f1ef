import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startRegistration } from '../../../node-agent/plugin/registration.ts';
import type { Handlers } from '../../../src/csi/call.ts';
import type { ControllerHandlers } from '../../../src/csi/generated/csi/v1/Controller.ts';
import type { NodeHandlers } from '../../../src/csi/generated/csi/v1/Node.ts';
import { createIdentity } from '../../../src/csi/identity.ts';
import { loadCsi } from '../../../src/csi/protocol.ts';
import { serve } from '../../../src/csi/server.ts';
import { createLog } from '../../../src/lib/log.ts';

/** The name of a driver that does nothing: its volumes are directories at the paths of the pods' volumes. */
export const floorDriver = 'floor.fairlead.dev';

const controller: Handlers<ControllerHandlers> = {
  ControllerGetCapabilities: async () => ({
    capabilities: (['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] as const).map(type => ({
      rpc: { type },
    })),
  }),
  CreateVolume: async ({ name, capacity_range }) => ({
    volume: { volume_id: name, capacity_bytes: capacity_range?.required_bytes ?? '0' },
  }),
  DeleteVolume: async () => ({}),
  ControllerPublishVolume: async () => ({}),
  ControllerUnpublishVolume: async () => ({}),
};

const nodeHandlers = (nodeId: string): Handlers<NodeHandlers> => ({
  NodeGetInfo: async () => ({ node_id: nodeId }),
  NodeGetCapabilities: async () => ({ capabilities: [] }),
  async NodePublishVolume({ target_path: path }) {
    mkdirSync(path, { recursive: true });
    return {};
  },
  async NodeUnpublishVolume({ target_path: path }) {
    rmSync(path, { recursive: true, force: true });
    return {};
  },
});

/** Serves all of CSI on one node, and registers there: driver.ts KUBELET-DIRECTORY NODE. */
async function main([kubelet = '', nodeId = '']: readonly string[]): Promise<void> {
  const log = createLog('floor', 'info');
  const csi = loadCsi();
  const directory = join(kubelet, 'plugins', floorDriver);
  mkdirSync(directory, { recursive: true });
  const socketPath = join(directory, 'csi.sock');
  const identity = createIdentity({ driverName: floorDriver, advertised: [], isReady: () => true });
  await serve({
    socketPath,
    services: [
      { definition: csi.Identity, handlers: identity },
      { definition: csi.Controller, handlers: controller },
      { definition: csi.Node, handlers: nodeHandlers(nodeId) },
    ],
    log,
  });
  const registry = join(kubelet, 'plugins_registry');
  await startRegistration({ directory: registry, driverName: floorDriver, endpoint: socketPath, log });
}

if (import.meta.main) await main(process.argv.slice(2));
