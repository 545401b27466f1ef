import * as z from 'zod';
import { preconditionProblem, Problem } from '../../src/api/problem.ts';
import { accessModes, accessTypes } from '../../src/api/storage.ts';
import type {
  AttachmentBounds,
  Backend,
  BackendPlugin,
  Changes,
  CreatedSnapshot,
  Extent,
  KnownSnapshot,
  NewSnapshot,
  NewVolume,
  Snapshots,
  VolumeRef,
} from '../backend.ts';
import { byteCount } from '../local/settings-schemas.ts';

const settings = z.strictObject({
  capacity: byteCount.default(2 ** 40).describe('maximum bytes of all volumes together'),
});

const blockBytes = 4_096;

/** Keeps volumes in memory until the process ends, for tests and for a first look at the API. */
export const memory: BackendPlugin<typeof settings> = {
  settings,
  expectedBounds: () => attachmentBounds,
  open: async values => openMemory(values),
};

/** The backend with a stand-in for a node that writes to its volumes and reads them. */
export interface MemoryBackend extends Backend {
  write(volumeId: string, offset: number, bytes: Uint8Array): void;
  read(volumeId: string, offset: number, length: number): Uint8Array;
}

type Write = { readonly offset: number; readonly bytes: Uint8Array };
/** The content of a volume or a snapshot: all writes in order. A copy shares the list. */
type Disk = { readonly nonce: string; readonly sizeBytes: number; readonly writes: readonly Write[] };
type Snapshot = { readonly disk: Disk; readonly result: CreatedSnapshot };
type Contents = { readonly volumes: Map<string, Disk>; readonly snapshots: Map<string, Snapshot> };

/** The directory of attached devices, as a node would see it; it holds no file. */
const directory = '/dev/shm';
const attachmentBounds: AttachmentBounds = { protocols: ['loop'], roots: [directory] };

export function openMemory({ capacity }: z.output<typeof settings>): MemoryBackend {
  const contents: Contents = { volumes: new Map(), snapshots: new Map() };
  const { volumes } = contents;
  return {
    name: 'memory',
    attachmentBounds,
    accessModes,
    accessTypes,
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 1, defaultBytes: 2 ** 30, stepBytes: 1 },
    sources: ['snapshot', 'volume'],
    async create(volume) {
      const { id, nonce, requiredBytes: sizeBytes } = volume;
      const disk = volumes.get(id) ?? { nonce, sizeBytes, writes: writesOf(contents, volume) };
      requireMadeFor(disk, volume);
      volumes.set(id, disk);
      return { sizeBytes: disk.sizeBytes };
    },
    async delete({ id, nonce }) {
      if (!nonce || volumes.get(id)?.nonce === nonce) volumes.delete(id);
    },
    async attach(volume) {
      const { id } = volume;
      requireOwn(volumes, volume);
      return { protocol: 'loop', path: `${directory}/${id}.img` };
    },
    detach: async () => {},
    async expand(volume, { requiredBytes }) {
      const disk = requireOwn(volumes, volume);
      const sizeBytes = Math.max(requiredBytes, disk.sizeBytes);
      volumes.set(volume.id, { ...disk, sizeBytes });
      return { sizeBytes, nodeExpansionRequired: true };
    },
    modification: {
      parameters: z.strictObject({
        tier: z.enum(['standard', 'fast']).exactOptional(),
        label: z.string().max(64).exactOptional(),
      }),
      async apply(volume) {
        requireOwn(volumes, volume);
      },
    },
    snapshots: createSnapshots(contents),
    changes: createChanges(contents),
    async volumeHealth({ id, nonce }) {
      const disk = volumes.get(id);
      if (disk && (!nonce || disk.nonce === nonce)) return [];
      return [{ status: 'DATA_LOSS', reason: 'VolumeMissing', message: 'the volume is missing' }];
    },
    capacity: async () => ({ totalBytes: capacity }),
    async *list() {
      yield* volumes.keys();
    },
    write(id, offset, bytes) {
      const volume = requireFound(volumes.get(id), id);
      const write = { offset, bytes: Uint8Array.from(bytes) };
      volumes.set(id, { ...volume, writes: [...volume.writes, write] });
    },
    read: (id, offset, length) => read(requireFound(volumes.get(id), id), offset, length),
  };
}

function createSnapshots({ volumes, snapshots }: Contents): Snapshots {
  const take = ({ id, nonce, volume }: NewSnapshot): CreatedSnapshot => {
    const disk = requireOwn(volumes, volume);
    const taken = snapshots.getOrInsertComputed(id, () => copyOf({ ...disk, nonce }));
    requireMadeFor(taken.disk, { id, nonce });
    return taken.result;
  };
  return {
    parameters: z.strictObject({}),
    create: async snapshot => take(snapshot),
    async delete({ id, nonce }) {
      if (!nonce || snapshots.get(id)?.disk.nonce === nonce) snapshots.delete(id);
    },
    async createGroup(members) {
      for (const { volume } of members) requireOwn(volumes, volume);
      return members.map(take);
    },
    async *list() {
      yield* snapshots.keys();
    },
  };
}

function createChanges({ snapshots }: Contents): Changes {
  const find = ({ id }: KnownSnapshot): Disk => requireFound(snapshots.get(id), id).disk;
  return {
    async *allocated(snapshot, fromOffset) {
      const { writes, sizeBytes } = find(snapshot);
      yield* blocksOf(writes, sizeBytes, fromOffset);
    },
    async *changed(pair, fromOffset) {
      const [base, target] = [find(pair.base), find(pair.target)];
      const differing = new Set(base.writes).symmetricDifference(new Set(target.writes));
      yield* blocksOf(differing, target.sizeBytes, fromOffset);
    },
  };
}

function copyOf(disk: Disk): Snapshot {
  const { sizeBytes, writes } = disk;
  const reservedBytes = blocksOf(writes, sizeBytes).reduce((sum, { length }) => sum + length, 0);
  const result = { sizeBytes, createdAtMs: Date.now(), reservedBytes, ready: true };
  return { disk, result };
}

function requireMadeFor({ nonce }: Disk, resource: Pick<NewVolume, 'id' | 'nonce'>): void {
  if (nonce !== resource.nonce)
    throw new Problem('ALREADY_EXISTS', `"${resource.id}" already exists for another record`);
}

function writesOf({ volumes, snapshots }: Contents, { source }: NewVolume): Disk['writes'] {
  if (!source) return [];
  if (source.kind === 'volume') return requireOwn(volumes, source.volume).writes;
  return requireFound(snapshots.get(source.snapshot.id), source.snapshot.id).disk.writes;
}

/** FAILED_PRECONDITION unless the disk exists and has the volume's nonce. */
function requireOwn(volumes: Contents['volumes'], { id, nonce }: VolumeRef): Disk {
  const disk = volumes.get(id);
  return requireFound(!nonce || disk?.nonce === nonce ? disk : undefined, id);
}

function requireFound<T>(found: T | undefined, id: string): T {
  if (found === undefined) throw preconditionProblem(`"${id}" is missing`);
  return found;
}

/** Reads bytes of a disk; bytes that were never written are 0. */
function read({ writes }: Disk, offset: number, length: number): Uint8Array {
  const content = new Uint8Array(length);
  for (const write of writes) {
    const start = Math.max(offset, write.offset);
    const end = Math.min(offset + length, write.offset + write.bytes.length);
    if (start < end)
      content.set(write.bytes.subarray(start - write.offset, end - write.offset), start - offset);
  }
  return content;
}

/** The blocks of the disk that the writes touch, from the first that ends after `fromOffset`. */
function blocksOf(writes: Iterable<Write>, sizeBytes: number, fromOffset = 0): readonly Extent[] {
  const offsets = new Set<number>();
  for (const { offset, bytes } of writes)
    for (let start = offset - (offset % blockBytes); start < offset + bytes.length; start += blockBytes)
      offsets.add(start);
  return [...offsets]
    .sort((a, b) => a - b)
    .map(offset => ({ offset, length: Math.min(blockBytes, sizeBytes - offset) }))
    .filter(({ offset, length }) => length > 0 && offset + length > fromOffset);
}
