import type { Backend } from '../../../../gateway/backend.ts';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import type { Snapshot } from '../../../../src/api/snapshot.ts';
import { openMemory } from '../../../harness/gateway-harness.ts';
import { zones } from './model.ts';
import type { Zone } from './operations.ts';

/** What the gateways of a world stand on, and what a test sees of it and does to it. */
export type ModelStorage = Pick<MemoryBackend, 'read' | 'write'> & {
  /** As it is, without faults: a gateway's from its start to its end. */
  open(): Promise<Backend>;
  /** Which nodes can reach which volume now. */
  attached(): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** The first bytes that a snapshot holds. */
  readSnapshot(
    snapshot: Pick<Snapshot, 'id' | 'volumeId' | 'sizeBytes'>,
    length: number,
  ): Promise<Uint8Array>;
  /** Where volumes of a zone are; absent: zones are nothing to it, and nothing is asked to be in one. */
  readonly topologyOf?: (zone: Zone) => readonly object[];
  /** The mutable parameter that is modified. */
  readonly mutable: string;
  /** Nodes only read: what may be written while it is copied cannot be copied. */
  readonly readonly: boolean;
  /** How long claims hold: longer than a call, when nothing goes wrong. */
  readonly leaseMs: number;
  /** What goes wrong in it by itself is over. */
  calm?(): Promise<void>;
};

/** Memory with a zone a and a zone b. */
export async function openMemoryStorage(): Promise<ModelStorage> {
  const attached = new Map<string, Set<string>>();
  const spaces = zones.map(zone => ({ totalBytes: 2 ** 39, segments: { zone } }));
  const storage = watchAttached(await openMemory(spaces), attached);
  const { read, write } = storage;
  return {
    open: async () => storage,
    attached: async () => attached,
    read,
    write,
    async readSnapshot(snapshot, length) {
      const probe = { id: 'a.probe', nonce: 'probe' };
      const bounds = { requiredBytes: snapshot.sizeBytes, limitBytes: 0 };
      const source = { kind: 'snapshot', snapshot } as const;
      await storage.create({ ...probe, ...bounds, parameters: {}, capabilities: [], source });
      const bytes = read(probe.id, 0, length);
      await storage.delete({ id: probe.id });
      return bytes;
    },
    topologyOf: zone => [{ zone }],
    mutable: 'tier',
    readonly: false,
    leaseMs: 40,
  };
}

function watchAttached(inner: MemoryBackend, attached: Map<string, Set<string>>): MemoryBackend {
  return {
    ...inner,
    async attach(volume, access) {
      attached.set(volume.id, new Set(attached.get(volume.id)).add(access.nodeId));
      return inner.attach(volume, access);
    },
    async detach(volume, nodeId) {
      attached.get(volume.id)?.delete(nodeId);
      return inner.detach(volume, nodeId);
    },
  };
}
