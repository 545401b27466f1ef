import type { Disk } from './disk.ts';
import { toPage, type Page } from './page.ts';
import { Problem } from './problem.ts';
import type { Answer } from './vendor.ts';
import { requireKnown, toSource, type Volume } from './volumes.ts';

type Asked = {
  snapshotId: string;
  body: { name: string; volumeId: string; parameters?: Record<string, string> };
};
type Snapshot = { id: string; name: string; volumeId: string; sizeBytes: number };

/** The operations on snapshots, which are copies of their own. */
export function createSnapshots(disk: Disk) {
  return {
    listSnapshots({ volumeId, ...page }: Page & { volumeId?: string }): Answer {
      const all = disk.list<Snapshot>('snapshot').filter(one => one.volumeId === (volumeId ?? one.volumeId));
      return toPage('snapshots', all, page);
    },
    getSnapshot: ({ snapshotId }: Asked): Answer => [200, disk.require('snapshot', snapshotId)],

    createSnapshot({ snapshotId: id, body: { name, volumeId, parameters } }: Asked): Answer {
      const found = disk.find<Snapshot>('snapshot', id);
      if (found && found.name === name && found.volumeId === volumeId) return [200, found];
      if (found) throw new Problem('ALREADY_EXISTS', `snapshot "${id}" is there, and is another`);
      requireKnown('snapshot', parameters);
      const volume = disk.require<Volume>('volume', volumeId);
      const { sizeBytes } = volume;
      if (sizeBytes > disk.freeBytes())
        throw new Problem('RESOURCE_EXHAUSTED', `no ${sizeBytes} bytes are left`);
      const createdAt = new Date().toISOString();
      disk.fill(disk.pathOf('snapshot', id), sizeBytes, toSource(disk, 'volume', volume));
      return [201, disk.put('snapshot', { id, name, volumeId, state: 'ready', sizeBytes, createdAt })];
    },

    deleteSnapshot({ snapshotId }: Asked): Answer {
      disk.remove('snapshot', snapshotId);
      return [204];
    },
  };
}
