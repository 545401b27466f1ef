import * as z from 'zod';
import type { NewSnapshot, Snapshots } from '../../../backend.ts';
import { missing } from '../commands.ts';
import { groupOf, nameOf, quotaOf, requireSubvolume, type Filesystem, type Subvolume } from './filesystem.ts';
import { isDeleted, notesOf, snapshotNotesOf, unmarkDeleted } from './notes.ts';

export function createShareSnapshots(filesystem: Filesystem): Snapshots {
  const snapshotNotes = snapshotNotesOf(filesystem);
  return {
    parameters: z.strictObject({}),

    async create(request) {
      groupOf(request.id, 'snapshot');
      const [known] = await snapshotNotes.find(request);
      const note = known && (await exists(filesystem, known)) ? known : await take(filesystem, request);
      return { sizeBytes: note.sizeBytes, createdAtMs: note.createdAtMs, ready: true };
    },

    async delete(snapshot) {
      groupOf(snapshot.id, 'snapshot');
      const notes = await notesOf(filesystem).read();
      for (const note of await snapshotNotes.find(snapshot, notes)) {
        const { name, subvolume } = note;
        await filesystem.order({ verb: 'snapshot rm', of: subvolume, args: [name] }, { fine: [missing] });
        // The last snapshot also removes the rest of its deleted volume.
        const isLast =
          isDeleted(notes, subvolume) && (await filesystem.inspect(subvolume)).state === 'missing';
        if (isLast) await unmarkDeleted(filesystem, subvolume);
        await snapshotNotes.drop(note);
      }
    },

    async *list() {
      yield* await snapshotNotes.ids();
    },
  };
}

type Snapshot = { readonly name: string; readonly subvolume: Subvolume };

async function exists(filesystem: Filesystem, { name, subvolume }: Snapshot): Promise<boolean> {
  const order = { verb: 'snapshot info', of: subvolume, args: [name] };
  return (await filesystem.order(order, { fine: [missing] })).status === 0;
}

/** Takes a snapshot and notes its time, because the cluster reports the time in a time zone of its own. */
async function take(filesystem: Filesystem, request: NewSnapshot) {
  const { subvolume, info } = await requireSubvolume(filesystem, request.volume);
  const note = { subvolume, sizeBytes: quotaOf(info), createdAtMs: Date.now() };
  await snapshotNotesOf(filesystem).write(request, note);
  await filesystem.order({ verb: 'snapshot create', of: subvolume, args: [nameOf(request)] });
  return note;
}
