import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { StorageClient } from '../../../src/api/client.ts';
import type { Call } from '../../../src/api/http.ts';
import { features } from '../../../src/api/storage.ts';
import { Problem } from '../../../src/api/problem.ts';
import type { Capabilities } from '../../../src/api/storage.ts';
import type { CapabilitySource } from '../../../src/controller/capabilities.ts';
import { createController } from '../../../src/controller/controller.ts';
import { createGroupController } from '../../../src/controller/group-controller.ts';
import { createSnapshotMetadata } from '../../../src/controller/snapshot-metadata.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import { advertisedByDefault, type Advertised } from '../../../src/csi/identity.ts';
import { clientOf, serveCsi, temporaryDir } from '../../harness/csi-serving.ts';
import { sampleGroup, sampleSnapshot, sampleVolume } from '../../fakes/storage-api.ts';

/** What the storage can do where a test says nothing of it. */
export const offered: Capabilities = {
  version: '1',
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount', 'block'],
  features: ['capacity'],
  pools: [],
};

/** A storage that can do everything. */
export const everything: Capabilities = { ...offered, features: [...features] };

/** One call of the Storage API: the operation, and what it was given without the call itself. */
export type Asked = readonly [name: string, input: Readonly<Record<string, unknown>>];

/** A controller of cluster "a" on a socket, and what it asked of the API. */
export type Served = { readonly csi: CsiClient; readonly asked: readonly Asked[] };

/** Serves a controller in front of a client that is a plain object; `client` overrides single answers. */
export async function serveController(
  t: TestContext,
  client: Partial<StorageClient> = {},
  capabilities: (Capabilities & { readonly advertised?: Advertised }) | undefined = offered,
): Promise<Served> {
  const asked: Asked[] = [];
  const source: CapabilitySource = {
    get() {
      if (!capabilities)
        throw new Problem('UNAVAILABLE', 'the gateway has not reported its capabilities: it is down');
      return capabilities;
    },
    isKnown: () => capabilities !== undefined,
    close: () => {},
  };
  const answers = Object.entries({ ...calmClient(), ...client });
  const recording = answers.map(([name, answer]) => [
    name,
    (input: Asked[1], call: Call): unknown => {
      // As it goes over the wire.
      asked.push([name, JSON.parse(JSON.stringify(input)) as Asked[1]]);
      return (answer as (...given: unknown[]) => unknown)(input, call);
    },
  ]);
  const options = {
    client: Object.fromEntries(recording) as StorageClient,
    capabilities: source,
    cluster: 'a',
    advertised: capabilities?.advertised ?? advertisedByDefault,
  };
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath, {
    controller: createController(options),
    groups: createGroupController(options),
    metadata: createSnapshotMetadata(options),
  });
  return { csi: clientOf(t, socketPath), asked };
}

/** Everything works. */
function calmClient(): Partial<StorageClient> {
  const attachment = {
    protocol: 'loop',
    attachmentId: 'x1',
    sizeBytes: 1_048_576,
    readonly: false,
    mayFormat: true,
    path: '/images/a.pvc-1',
  } as const;
  return {
    getCapacity: async () => ({ availableBytes: 10, maximumVolumeBytes: 5, minimumVolumeBytes: 1 }),
    createVolume: async ({ volumeId: id, body: { name } }) => sampleVolume({ id, name, context: { k: 'v' } }),
    getVolume: async ({ volumeId: id }) => sampleVolume({ id }),
    listVolumes: async () => ({ volumes: [] }),
    deleteVolume: async () => {},
    validateVolume: async () => ({ confirmed: true }),
    attachVolume: async ({ volumeId, nodeId }) => ({
      volumeId,
      nodeId,
      state: 'attached',
      readonly: false,
      attachment,
    }),
    detachVolume: async () => {},
    detachVolumeFromAllNodes: async () => {},
    expandVolume: async ({ volumeId: id, body: { requiredBytes = 0 } }) =>
      sampleVolume({ id, sizeBytes: requiredBytes, nodeExpansionRequired: true }),
    modifyVolume: async ({ volumeId: id, body }) => sampleVolume({ id, ...body }),
    getVolumeHealth: async ({ volumeId }) => ({ volumeId, entries: [] }),
    listVolumeHealth: async () => ({ volumes: [] }),
    createSnapshot: async ({ snapshotId: id, body: { name, volumeId } }) =>
      sampleSnapshot({ id, name, volumeId }),
    getSnapshot: async ({ snapshotId: id }) => sampleSnapshot({ id }),
    listSnapshots: async () => ({ snapshots: [] }),
    deleteSnapshot: async () => {},
    createGroup: async ({ groupId: id, body: { name } }) => sampleGroup({ id, name }),
    getGroup: async ({ groupId: id }) => sampleGroup({ id }),
    deleteGroup: async () => {},
    listBlocks: async () => ({ sizeBytes: 1_048_576, blocks: [] }),
  };
}
