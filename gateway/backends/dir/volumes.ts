import { lstat, mkdir, opendir, readdir } from 'node:fs/promises';
import * as z from 'zod';
import { invalidProblem, preconditionProblem, Problem } from '../../../src/api/problem.ts';
import type { Capability } from '../../../src/api/storage.ts';
import type { Backend, HealthEntry, NewVolume, VolumeRef } from '../../backend.ts';
import type { Export } from '../../export.ts';
import {
  codeOf,
  fileProblem,
  filesystemFaults,
  fullBytes,
  ignore,
  isId,
  listing,
  readFault,
  syncDirectory,
  type Access,
} from '../../local/files.ts';
import { mark, requireMadeFor, requireNotForeign, unmark } from '../../local/marks.ts';
import { hasDirectory, type Filesystems, type Quota } from './filesystems.ts';
import type { Root } from './root.ts';
import type { SnapshotStore } from './snapshots.ts';

const accountId = z
  .string()
  .regex(/^(0|[1-9]\d{0,9})$/, 'use a number')
  // The greatest 32-bit number means no account (chown(2)).
  .refine(id => Number(id) < 2 ** 32 - 1, 'use a number below 4294967295');

/** The owner, group and mode of a new volume's directory. */
export const parameters = z.strictObject({
  uid: accountId.exactOptional(),
  gid: accountId.exactOptional(),
  mode: z
    .string()
    .regex(/^[0-3]?[0-7]{3}$/, 'use an octal mode, such as 0770 or 2775')
    .exactOptional(),
});

/** Reads the access of a new directory: by default for the gateway's user and group. The mounting side decides about others. */
function accessOf({ uid, gid, mode = '0770' }: z.output<typeof parameters>): Access {
  return {
    mode: Number.parseInt(mode, 8),
    ...(uid !== undefined && { uid: Number(uid) }),
    ...(gid !== undefined && { gid: Number(gid) }),
  };
}

export function requireFilesystem({ fsType }: Capability, protocol: string): void {
  if (fsType === undefined || fsType === protocol) return;
  throw invalidProblem(
    `filesystem "${fsType}" cannot be used: a volume of backend "dir" is a directory of an existing filesystem; leave the filesystem out`,
  );
}

type EmptyVolume = Pick<NewVolume, 'nonce' | 'requiredBytes'> & {
  readonly noun: string;
  readonly given: NewVolume['parameters'];
};

type VolumeParts = {
  readonly protocol: string;
  readonly exported: Export | undefined;
  readonly quota: Quota | undefined;
  readonly filesystems: Filesystems | undefined;
  /** Absent where directories cannot be copied at one instant. */
  readonly copies: SnapshotStore | undefined;
};

/**
 * Manages one directory for each volume. Sizes are not stored: a volume's size is the requested one. Only a quota enforces it.
 */
export function createVolumes(
  root: Root,
  { protocol, exported, quota, filesystems, copies }: VolumeParts,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'volumeHealth' | 'list'>> {
  const { find, pathOf, sync, discard } = root;
  async function createEmpty(
    path: string,
    { nonce, noun, requiredBytes, given }: EmptyVolume,
  ): Promise<void> {
    await filesystems?.create(path);
    const isThere = hasDirectory(path);
    // An empty directory without a mark is left from an unfinished create. A directory with data never becomes a
    // new volume.
    const holdsData = isThere && (await readdir(path)).length > 0;
    if (holdsData) requireMadeFor(path, nonce, noun);
    if (!isThere) await mkdir(path, { mode: 0o700 }).catch(ignore('EEXIST'));
    if (!holdsData) mark(path, nonce, { what: noun });
    await quota?.limit(path, requiredBytes, { isNew: !holdsData });
    // A directory with data has its access already, and a pod may have changed it since.
    await syncDirectory(path, holdsData ? undefined : accessOf(given));
  }

  return {
    async create({ id, nonce, requiredBytes, capabilities, source, parameters: given }) {
      for (const capability of capabilities) requireFilesystem(capability, protocol);
      const [path, noun] = [pathOf(id), `the directory of volume "${id}"`];
      try {
        if (source && copies) {
          await copies.restore(path, nonce, source);
          await quota?.limit(path, requiredBytes, { isNew: true });
        } else await createEmpty(path, { nonce, noun, requiredBytes, given });
        await sync();
      } catch (error) {
        // Other calls fail so as well, such as the mark on a filesystem without links.
        const isGivenAway = given['uid'] !== undefined || given['gid'] !== undefined;
        if (isGivenAway && codeOf(error) === 'EPERM')
          throw preconditionProblem(
            `${noun} cannot get another owner: run the gateway as root, or leave "uid" and "gid" out`,
            error,
          );
        // ENOENT means that the root is missing, and a later try may succeed.
        throw codeOf(error) === 'ENOENT' ? error : fileProblem(error, noun);
      }
      return { sizeBytes: requiredBytes };
    },

    async expand(volume, { requiredBytes }) {
      const { id } = volume;
      const path = find(volume);
      if (path === undefined) throw new Problem('NOT_FOUND', `the directory of volume "${id}" is missing`);
      const sizeBytes = Math.max(volume.sizeBytes, requiredBytes);
      await quota?.limit(path, sizeBytes, { isNew: false });
      return { sizeBytes, nodeExpansionRequired: false };
    },

    async delete(volume) {
      const { id } = volume;
      const path = find(volume);
      const users = (await exported?.users?.({ ...volume, path: pathOf(id) })) ?? [];
      if (users.length > 0)
        throw preconditionProblem(`volume "${id}" is still in use by ${users.join(', ')}`);
      // A crash before the release leaves a limit of a project that nothing is in.
      const release = path === undefined ? undefined : await quota?.releaseOf?.(path);
      await discard(volume);
      unmark(pathOf(id), volume.nonce);
      await root.emptyTrash(one => one === id);
      await release?.();
    },

    volumeHealth: volume => healthOf(root, volume),

    async *list() {
      root.requireInRoot();
      for await (const entry of await opendir(root.root, listing))
        if (entry.isDirectory() && isId(entry.name)) yield entry.name;
    },
  };
}

/** Reports the faults of a volume's directory and of the filesystem, which any volume can fill for the others. */
async function healthOf(root: Root, { id, nonce }: VolumeRef): Promise<readonly HealthEntry[]> {
  const path = root.pathOf(id);
  try {
    requireNotForeign(path, nonce, `the directory of volume "${id}"`);
    await root.requireMounted(id);
    if (!(await lstat(path)).isDirectory()) {
      const message = `"${path}" of volume "${id}" is not a directory`;
      return [{ status: 'DATA_LOSS', reason: 'DirectoryReplaced', message }];
    }
    await using directory = await opendir(path);
    await directory.read();
    return await filesystemFaults(root.root, fullBytes);
  } catch (error) {
    return [readFault(error, 'directory', id)];
  }
}
