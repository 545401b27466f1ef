import type { Page } from '../vendor-hono/page.ts';
import { Problem } from '../vendor-hono/problem.ts';
import type { Answer } from '../vendor-hono/vendor.ts';
import { snapshotOf, type Ceph } from './ceph.ts';
import type { Records } from './records.ts';
import { requireNone, requireReady } from './volumes.ts';

type Snapshot = { name: string; volumeId: string };
type Asked = { snapshotId: string; body: Snapshot & { parameters?: object } };

/** Each snapshot is one of its volume's image, and a record. */
export function createSnapshots(ceph: Ceph, records: Records) {
  const diskOf = (volumeId: string): string => ceph.pathOf(`v.${volumeId}`, 'disk');
  const find = async (id: string) => (await records.find<Snapshot>(`s.${id}`))?.value;

  async function read(id: string) {
    const record = await find(id);
    const taken = record && snapshotOf(await ceph.find(diskOf(record.volumeId)), `s.${id}`);
    if (!taken) return [];
    const createdAt = new Date(taken.timestamp).toISOString();
    return [{ id, ...record, state: 'ready', sizeBytes: taken.size, createdAt }];
  }

  return {
    listSnapshots({ volumeId, ...page }: Page & { volumeId?: string }): Promise<Answer> {
      const of = async (id: string) => (await read(id)).filter(one => !volumeId || one.volumeId === volumeId);
      return records.list('snapshots', { prefix: 's.', read: of }, page);
    },

    async createSnapshot({ snapshotId: id, body: { name, volumeId, parameters } }: Asked): Promise<Answer> {
      requireNone(parameters);
      const before = await find(id);
      if (before && (before.name !== name || before.volumeId !== volumeId))
        throw new Problem('ALREADY_EXISTS', `snapshot "${id}" exists with another name or volume`);
      await requireReady(ceph, records, volumeId);
      await records.create<Snapshot>(`s.${id}`, { name, volumeId });
      const taking = { snapshot_name: `s.${id}`, mirrorImageSnapshot: false };
      const disk = diskOf(volumeId);
      await ceph.settle(disk, image => snapshotOf(image, `s.${id}`), [`POST ${disk}/snap`, taking]);
      return records.show(id, read);
    },

    getSnapshot: ({ snapshotId }: Asked) => records.show(snapshotId, read),

    async deleteSnapshot({ snapshotId: id }: Asked): Promise<Answer> {
      const disk = diskOf((await find(id))?.volumeId ?? '');
      const removing = `DELETE ${disk}/snap/s.${encodeURIComponent(id)}`;
      await ceph.settle(disk, image => !snapshotOf(image, `s.${id}`), [removing]);
      await records.remove(`s.${id}`);
      return [204];
    },
  };
}
