import { z } from 'zod';
import type { NewSnapshot, Snapshots } from '../../../backend.ts';
import { missing } from '../commands.ts';
import { groupOf, idOf, nameOf, quotaOf, requireSubvolume, type Filesystem } from './filesystem.ts';
import {
  forgetDeleted,
  forgetTaken,
  isDeleted,
  noteTaken,
  readNotes,
  snapshotsIn,
  takenIn,
  type Taken,
} from './notes.ts';

/** The snapshots of a filesystem's subvolumes. */
export function createShareSnapshots(filesystem: Filesystem): Snapshots {
  return {
    parameters: z.strictObject({}),

    async create(asked) {
      groupOf(asked.id, 'snapshot');
      const [known] = takenIn(await readNotes(filesystem), asked);
      const taken = known && (await isThere(filesystem, known)) ? known : await take(filesystem, asked);
      return { sizeBytes: taken.sizeBytes, createdAtMs: taken.createdAtMs, ready: true };
    },

    async delete(snapshot) {
      groupOf(snapshot.id, 'snapshot');
      const notes = await readNotes(filesystem);
      for (const taken of takenIn(notes, snapshot)) {
        const { name, subvolume } = taken;
        await filesystem.order({ verb: 'snapshot rm', of: subvolume, args: [name] }, { fine: [missing] });
        // The last one takes with it what was left of its volume.
        const isLast =
          isDeleted(notes, subvolume) && (await filesystem.inspect(subvolume)).state === 'missing';
        if (isLast) await forgetDeleted(filesystem, subvolume);
        await forgetTaken(filesystem, taken);
      }
    },

    async *list() {
      yield* new Set(snapshotsIn(await readNotes(filesystem)).map(idOf));
    },
  };
}

async function isThere(filesystem: Filesystem, { name, subvolume }: Taken): Promise<boolean> {
  const order = { verb: 'snapshot info', of: subvolume, args: [name] };
  return (await filesystem.order(order, { fine: [missing] })).status === 0;
}

/** The cluster tells when it took a snapshot in a time zone of its own: it is noted instead. */
async function take(filesystem: Filesystem, asked: NewSnapshot): Promise<Taken> {
  const { subvolume, info } = await requireSubvolume(filesystem, asked.volume);
  const taken = { name: nameOf(asked), subvolume, sizeBytes: quotaOf(info), createdAtMs: Date.now() };
  await noteTaken(filesystem, taken);
  await filesystem.order({ verb: 'snapshot create', of: subvolume, args: [taken.name] });
  return taken;
}
