import type { Disk, Document, Name, Texts } from './disk.ts';
import { toPage, type Page } from './page.ts';
import type { Answer } from './vendor.ts';
import { requireKnown } from './volumes.ts';

type Spec = { name: string; volumeId: string; parameters?: Texts };
type Asked = { snapshotId: string; body: Spec };

const nameOf = (id: string): Name => ({ kind: 'snapshot', id });

/** The operations on snapshots, which are copies of their own. */
export function createSnapshots(disk: Disk) {
  return {
    listSnapshots({ volumeId, ...page }: Page & { volumeId?: string }): Answer {
      const all = disk.list('snapshot').map(show);
      return toPage(
        'snapshots',
        all.filter(one => one.volumeId === (volumeId ?? one.volumeId)),
        page,
      );
    },
    getSnapshot: ({ snapshotId }: Asked): Answer => [200, show(disk.require(nameOf(snapshotId)))],

    async createSnapshot({ snapshotId, body: { name, volumeId, parameters = {} } }: Asked): Promise<Answer> {
      requireKnown('snapshot', Object.keys(parameters));
      const origin: Name = { kind: 'volume', id: volumeId };
      const [status, snapshot] = await disk.create(nameOf(snapshotId), { name, volumeId }, { origin });
      return [status, show(snapshot)];
    },

    deleteSnapshot({ snapshotId }: Asked): Answer {
      disk.remove(nameOf(snapshotId));
      return [204];
    },
  };
}

function show({ id, asked, sizeBytes, createdAt }: Document) {
  return { id, ...(asked as Spec), state: 'ready', sizeBytes, createdAt };
}
