import { Problem, type Snapshot as Shown, type VendorOperations } from 'fairlead/vendor';
import { snapshotOf, type Ceph } from './ceph.ts';
import type { Records } from './records.ts';
import { requireReady } from './volumes.ts';

type Snapshot = { name: string; volumeId: string };

/** Each snapshot is one of its volume's image, and a record. */
export function createSnapshots(ceph: Ceph, records: Records) {
  const diskOf = (volumeId: string): string => ceph.pathOf(`v.${volumeId}`, 'disk');
  const find = async (id: string) => (await records.find<Snapshot>(`s.${id}`))?.value;

  async function read(id: string): Promise<Shown | undefined> {
    const record = await find(id);
    const taken = record && snapshotOf(await ceph.find(diskOf(record.volumeId)), `s.${id}`);
    if (!taken) return undefined;
    const createdAt = new Date(taken.timestamp).toISOString();
    return { id, ...record, state: 'ready', sizeBytes: taken.size, createdAt };
  }

  async function show(id: string): Promise<readonly [200, Shown]> {
    const found = await read(id);
    if (found) return [200, found];
    throw new Problem('NOT_FOUND', `there is no snapshot "${id}"`);
  }

  return {
    async listSnapshots({ volumeId, ...asked }) {
      const { entries, ...more } = await records.list('s.', read, asked);
      const snapshots = volumeId ? entries.filter(one => one.volumeId === volumeId) : entries;
      return [200, { snapshots, ...more }];
    },

    async createSnapshot({ snapshotId: id, body: { name, volumeId } }) {
      const before = await find(id);
      if (before && (before.name !== name || before.volumeId !== volumeId))
        throw new Problem('ALREADY_EXISTS', `snapshot "${id}" exists with another name or volume`);
      await requireReady(ceph, records, volumeId);
      await records.create<Snapshot>(`s.${id}`, { name, volumeId });
      const taking = { snapshot_name: `s.${id}`, mirrorImageSnapshot: false };
      const disk = diskOf(volumeId);
      await ceph.settle(disk, image => snapshotOf(image, `s.${id}`), [`POST ${disk}/snap`, taking]);
      return show(id);
    },

    getSnapshot: ({ snapshotId }) => show(snapshotId),

    async deleteSnapshot({ snapshotId: id }) {
      const disk = diskOf((await find(id))?.volumeId ?? '');
      const removing = `DELETE ${disk}/snap/s.${encodeURIComponent(id)}`;
      await ceph.settle(disk, image => !snapshotOf(image, `s.${id}`), [removing]);
      await records.remove(`s.${id}`);
      return [204];
    },
  } satisfies VendorOperations;
}
