import { mkdirSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { preconditionProblem, Problem } from '../../../src/api/problem.ts';
import type { Snapshots, VolumeRef, VolumeSource } from '../../backend.ts';
import { isId, listing, requireId, syncDirectory } from '../../local/files.ts';
import { isForeign, markedAtMs, unmark } from '../../local/marks.ts';
import { hasDirectory, type Filesystems } from './filesystems.ts';
import type { Root } from './root.ts';

/** The directory of the snapshots; no volume's id is equal to this name. */
const snapshotsName = '.snapshots';

export type SnapshotStore = ReturnType<typeof createSnapshots>;

/**
 * Manages the snapshots of a pool: read-only filesystems in a directory of their own. There are no groups, because
 * btrfs takes one snapshot at a time.
 */
export function createSnapshots(root: Root, filesystems: Filesystems) {
  const home = join(root.root, snapshotsName);
  if (!hasDirectory(home)) mkdirSync(home, { mode: 0o700 });
  const pathOf = (id: string): string => {
    root.requireInRoot();
    return join(home, requireId(id, 'snapshot'));
  };

  /** Finds the directory of a source. FAILED_PRECONDITION for a plain directory, NOT_FOUND if it is missing. */
  async function requireSource(kind: VolumeSource['kind'], { id, nonce }: VolumeRef): Promise<string> {
    const path = kind === 'snapshot' ? pathOf(id) : root.pathOf(id);
    const isOwn = !isForeign(path, nonce);
    if (isOwn && (await filesystems.has(path))) return path;
    if (!isOwn || !hasDirectory(path))
      throw new Problem('NOT_FOUND', `the directory of ${kind} "${id}" is missing`);
    throw preconditionProblem(
      `volume "${id}" was made before its pool had snapshots: it is a plain directory; copy its files to a new volume`,
    );
  }

  return {
    /** Makes the directory of a new volume from a source. */
    async restore(target: string, nonce: string, source: VolumeSource): Promise<void> {
      const { kind } = source;
      const ref = kind === 'snapshot' ? source.snapshot : source.volume;
      const what = `a copy of ${kind} "${ref.id}"`;
      const from = (await filesystems.has(target)) ? target : await requireSource(kind, ref);
      await filesystems.copy({ source: from, target, nonce, readonly: false, what });
    },
    snapshots: {
      parameters: z.strictObject({}),
      async create({ id, nonce, volume }) {
        const [target, what] = [pathOf(id), `snapshot "${id}"`];
        const source = (await filesystems.has(target)) ? target : await requireSource('volume', volume);
        await filesystems.copy({ source, target, nonce, readonly: true, what });
        await syncDirectory(home);
        return { sizeBytes: volume.sizeBytes, createdAtMs: markedAtMs(target), ready: true };
      },
      async delete({ id, nonce }) {
        const path = pathOf(id);
        if (!isForeign(path, nonce)) await filesystems.remove(path);
        unmark(path, nonce);
        await syncDirectory(home);
      },
      async *list() {
        root.requireInRoot();
        for await (const entry of await opendir(home, listing))
          if (entry.isDirectory() && isId(entry.name)) yield entry.name;
      },
    } satisfies Snapshots,
  };
}
