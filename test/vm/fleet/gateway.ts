import type { NodeSpec } from '../../../src/api/node.ts';
import type { Capability } from '../../../src/api/storage.ts';
import type { VolumeSpec } from '../../../src/api/volume.ts';
import { createLog } from '../../../src/lib/log.ts';
import { prepareGateway, runGateway } from '../../harness/gateway/program.ts';
import { servantScope } from './orders.ts';

/** The pools of a gateway's configuration by name. */
export type Pools = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Opens a gateway in this process, with all its files in a directory, and a client of the cluster "c". */
export async function openGateway(root: string, pools: Pools) {
  await prepareGateway(servantScope, { pools, clusters: { c: {} } }, root);
  const startMs = performance.now();
  const log = createLog('gateway', 'warn');
  const { url, clientOf } = await runGateway(servantScope, { directory: root, log });
  const startedMs = performance.now() - startMs;
  const client = clientOf('c');
  return {
    /** Returns the time from the gateway's start until it served. */
    startedMs: async () => startedMs,
    /** Returns the public keys that verify the gateway's signatures. */
    keys: async () => (await fetch(`${url}/.well-known/jwks.json`)).text(),
    putNode: (nodeId: string, body: NodeSpec = {}) => client.putNode({ nodeId, body }, call()),
    create: (name: string, pool: string, spec: object) =>
      client.createVolume({ volumeId: `c.${name}`, body: specOf(name, pool, spec) }, call()),
    delete: (name: string) => client.deleteVolume({ volumeId: `c.${name}` }, call()),
    expand: (name: string, requiredBytes: number) =>
      client.expandVolume({ volumeId: `c.${name}`, body: { requiredBytes } }, call()),
    snapshot: (name: string, volume: string) =>
      client.createSnapshot({ snapshotId: `c.${name}`, body: { name, volumeId: `c.${volume}` } }, call()),
    deleteSnapshot: (name: string) => client.deleteSnapshot({ snapshotId: `c.${name}` }, call()),
    /** Attaches a volume and returns the attachment as its node receives it. */
    async attach(name: string, nodeId: string, use: Use) {
      const body = { capability: capabilityFor(use), readonly: use.endsWith('to read') };
      return (await client.attachVolume({ ...keyOf(name, nodeId), body }, call())).attachment;
    },
    detach: (name: string, nodeId: string) => client.detachVolume(keyOf(name, nodeId), call()),
  };
}

/** The use of a volume: many nodes at once mount a share, or use a shared block volume raw. */
type Use = Capability['accessType'] | 'mount to read' | 'shared block' | 'share' | 'share to read';

function capabilityFor(use: Use): Capability {
  if (use === 'shared block') return { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' };
  if (use === 'mount to read') return { accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY' };
  if (use === 'mount' || use === 'block') return { accessType: use, accessMode: 'SINGLE_NODE_WRITER' };
  return { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' };
}

function specOf(name: string, pool: string, spec: object): VolumeSpec {
  const capabilities = [capabilityFor('mount'), capabilityFor('block')];
  return { name, capabilities, parameters: { pool }, ...spec } as VolumeSpec;
}

function keyOf(name: string, nodeId: string) {
  return { volumeId: `c.${name}`, nodeId };
}

function call() {
  return { deadlineMs: Date.now() + 120_000 };
}
