import type { Backend } from '../../../gateway/backend.ts';
import type { MemoryBackend } from '../../../gateway/backends/memory.ts';
import type { Snapshot } from '../../../src/api/snapshot.ts';
import { openMemory } from '../gateway.ts';
import { zones } from './model.ts';
import type { Zone } from './operations.ts';

/** The storage of a world's gateways, with the views and controls of a test. */
export type ModelStorage = {
  /** Reads and writes the data of a volume, as a node would, without an attachment. */
  read(id: string, offset: number, length: number): Uint8Array | Promise<Uint8Array>;
  write(id: string, offset: number, bytes: Uint8Array): void | Promise<void>;
  /** Opens it without faults, for one life of a gateway. */
  open(): Promise<Backend>;
  /** Returns the nodes that can reach each volume now. */
  attached(): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Reads the first bytes of a snapshot. */
  readSnapshot(
    snapshot: Pick<Snapshot, 'id' | 'volumeId' | 'sizeBytes'>,
    length: number,
  ): Promise<Uint8Array>;
  /** Returns the topology of volumes in a zone; absent if the storage has no zones. */
  readonly topologyOf?: (zone: Zone) => readonly object[];
  /** Makes the id of a node of its name; absent: they are equal. */
  readonly nodeIdOf?: (name: string) => string;
  /** The unit of the sizes of volumes; absent: a mebibyte. */
  readonly unitBytes?: number;
  /** True if a volume with snapshots cannot be deleted. */
  readonly snapshotsHoldVolumes?: boolean;
  /** The mutable parameter that is modified. */
  readonly mutable: string;
  /** True if nodes only read, because the storage cannot copy volumes during writes. */
  readonly readonly: boolean;
  /** The lifetime of claims: longer than a call without faults. */
  readonly leaseMs: number;
  /** Ends the storage's own faults. */
  calm?(): Promise<void>;
};

/** Converts the size of a model's volume to bytes. */
export function toBytes({ unitBytes = 2 ** 20 }: ModelStorage, size: number): number {
  return size * unitBytes;
}

/** Opens a memory backend with a zone a and a zone b. */
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
