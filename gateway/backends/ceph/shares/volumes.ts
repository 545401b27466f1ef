import { invalidProblem } from '../../../../src/api/problem.ts';
import type { Capability } from '../../../../src/api/storage.ts';
import type { Backend, NewVolume, VolumeRef } from '../../../backend.ts';
import { again, filled, missing } from '../commands.ts';
import { abandonCopy, copy, dropCopySnapshots } from './copies.ts';
import {
  groupOf,
  idOf,
  nameOf,
  quotaOf,
  requireSubvolume,
  type Filesystem,
  type Subvolume,
} from './filesystem.ts';
import { isDeleted, markDeleted, notesOf } from './notes.ts';

/** Manages the volumes of a filesystem: one subvolume for each, with the volume's size as its quota. */
export function createShareVolumes(
  filesystem: Filesystem,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'volumeHealth' | 'list'>> {
  return {
    async create(volume) {
      for (const capability of volume.capabilities) requireShare(capability);
      const subvolume = { group: groupOf(volume.id), name: nameOf(volume) };
      if (!volume.source) return createEmpty(filesystem, subvolume, volume);
      await copy(filesystem, subvolume, volume.source);
      return { sizeBytes: await grow(filesystem, volume, volume.requiredBytes) };
    },

    async expand(volume, { requiredBytes }) {
      return { sizeBytes: await grow(filesystem, volume, requiredBytes), nodeExpansionRequired: false };
    },

    async delete(volume) {
      for (const subvolume of await filesystem.locate(volume)) await remove(filesystem, subvolume);
    },

    async volumeHealth(volume) {
      const found = await Promise.all((await filesystem.locate(volume)).map(filesystem.inspect));
      if (found.some(({ state }) => state === 'complete')) return [];
      const message = `the subvolume of volume "${volume.id}" is missing`;
      return [{ status: 'DATA_LOSS', reason: 'SubvolumeMissing', message }];
    },

    async *list() {
      for (const group of await filesystem.groups()) {
        const names = await filesystem.namesOf(group);
        const notes = names.length > 0 ? await notesOf(filesystem).read() : new Map();
        yield* new Set(names.filter(name => !isDeleted(notes, { name })).map(idOf));
      }
    },
  };
}

/** INVALID_ARGUMENT for any filesystem but CephFS. */
export function requireShare({ fsType }: Capability): void {
  if (fsType === undefined || fsType === 'cephfs') return;
  throw invalidProblem(
    `filesystem "${fsType}" cannot be used: a volume is a directory of CephFS; leave the filesystem out`,
  );
}

/** Access for the gateway's user and group. The mounting side decides about other users. */
const layout = ['--mode', '770', '--namespace-isolated'];

async function createEmpty(
  filesystem: Filesystem,
  subvolume: Subvolume,
  { requiredBytes: sizeBytes }: NewVolume,
) {
  const order = { verb: 'create', of: subvolume, args: ['--size', String(sizeBytes), ...layout] };
  if ((await filesystem.order(order, { fine: [missing] })).status === missing) {
    await filesystem.createGroup(subvolume.group);
    await filesystem.order(order);
  }
  return { sizeBytes };
}

/** Grows a subvolume that is smaller than required, and returns its size. */
async function grow(filesystem: Filesystem, volume: VolumeRef, requiredBytes: number): Promise<number> {
  const { subvolume, info } = await requireSubvolume(filesystem, volume);
  const sizeBytes = quotaOf(info);
  if (sizeBytes >= requiredBytes) return sizeBytes;
  await filesystem.order({ verb: 'resize', of: subvolume, args: [String(requiredBytes), '--no_shrink'] });
  return requiredBytes;
}

/** Removes a subvolume. With snapshots only its files are removed at once, and the rest with the last snapshot. */
async function remove(filesystem: Filesystem, subvolume: Subvolume): Promise<void> {
  const order = { verb: 'rm', of: subvolume };
  const { status } = await filesystem.order(order, { fine: [missing, filled, again] });
  if (status === again) await abandonCopy(filesystem, subvolume);
  if (status !== filled) return;
  if (await dropCopySnapshots(filesystem, subvolume)) {
    await markDeleted(filesystem, subvolume);
    await filesystem.order({ ...order, args: ['--retain-snapshots'] }, { fine: [missing] });
  } else await filesystem.order(order, { fine: [missing] });
}
