import { z } from 'zod';
import type { NewSnapshot, Snapshots } from '../../../backend.ts';
import { missing } from '../commands.ts';
import { groupOf, idOf, nameOf, quotaOf, requireSubvolume, type Filesystem } from './filesystem.ts';
import {
  unmarkDeleted,
  dropSnapshotNote,
  isDeleted,
  writeSnapshotNote,
  readNotes,
  snapshotNames,
  findSnapshotNotes,
  type SnapshotNote,
} from './notes.ts';

export function createShareSnapshots(filesystem: Filesystem): Snapshots {
  return {
    parameters: z.strictObject({}),

    async create(request) {
      groupOf(request.id, 'snapshot');
      const [known] = findSnapshotNotes(await readNotes(filesystem), request);
      const note = known && (await exists(filesystem, known)) ? known : await take(filesystem, request);
      return { sizeBytes: note.sizeBytes, createdAtMs: note.createdAtMs, ready: true };
    },

    async delete(snapshot) {
      groupOf(snapshot.id, 'snapshot');
      const notes = await readNotes(filesystem);
      for (const note of findSnapshotNotes(notes, snapshot)) {
        const { name, subvolume } = note;
        await filesystem.order({ verb: 'snapshot rm', of: subvolume, args: [name] }, { fine: [missing] });
        // The last snapshot also removes the rest of its deleted volume.
        const isLast =
          isDeleted(notes, subvolume) && (await filesystem.inspect(subvolume)).state === 'missing';
        if (isLast) await unmarkDeleted(filesystem, subvolume);
        await dropSnapshotNote(filesystem, note);
      }
    },

    async *list() {
      yield* new Set(snapshotNames(await readNotes(filesystem)).map(idOf));
    },
  };
}

async function exists(filesystem: Filesystem, { name, subvolume }: SnapshotNote): Promise<boolean> {
  const order = { verb: 'snapshot info', of: subvolume, args: [name] };
  return (await filesystem.order(order, { fine: [missing] })).status === 0;
}

/** Takes a snapshot and notes its time, because the cluster reports the time in a time zone of its own. */
async function take(filesystem: Filesystem, request: NewSnapshot): Promise<SnapshotNote> {
  const { subvolume, info } = await requireSubvolume(filesystem, request.volume);
  const note = { name: nameOf(request), subvolume, sizeBytes: quotaOf(info), createdAtMs: Date.now() };
  await writeSnapshotNote(filesystem, note);
  await filesystem.order({ verb: 'snapshot create', of: subvolume, args: [note.name] });
  return note;
}
