import { execFile } from 'node:child_process';
import { constants, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { copyFile, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { timeAlternately, type Bench, type Figure } from './figure.ts';
import { inDirectory, withDev, type DevSetting } from './setting.ts';
import { createVolume } from './volume.ts';

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const diskBytes = 24 * GiB;
const rounds = 6;
const run = promisify(execFile);

/** Measures the time of a clone, and its dependence on size and data. */
export const cloneBench: Bench = {
  name: 'clone',
  doc: 'CreateVolume from a volume of 10 GiB with 1 GiB of data, on three filesystems, beside a durable copy by hand',
  run: async () => [
    ...(await measureOn('xfs', shareBlocks)),
    ...(await measureOn('btrfs', shareBlocks)),
    ...(await measureOn('ext4', copySparsely)),
  ],
};

/** Copies a file durably. */
type Copy = (source: string, target: string) => Promise<void>;

function measureOn(filesystem: string, copy: Copy): Promise<readonly Figure[]> {
  return onDisk(filesystem, dir =>
    withDev(dir, async setting => {
      const large = await fillVolume(setting, { name: 'large', sizeBytes: 10 * GiB, dataBytes: GiB });
      const small = await fillVolume(setting, { name: 'small', sizeBytes: GiB, dataBytes: 100 * MiB });
      const target = join(dir, 'by-hand');
      const { ofLarge, ofSmall, byHand } = await timeAlternately(rounds, {
        ofLarge: () => cloneAndDelete(setting, large),
        ofSmall: () => cloneAndDelete(setting, small),
        byHand: async () => {
          await copy(large.path, target);
          await rm(target);
        },
      });
      const name = `clone on ${filesystem}`;
      return [
        { name, value: ofLarge, unit: 'ms', floor: { name: 'a durable copy by hand', value: byHand } },
        { name: '', value: ofLarge, unit: 'ms', floor: { name: 'a tenth of size and data', value: ofSmall } },
      ];
    }),
  );
}

type FilledVolume = { readonly id: string; readonly sizeBytes: number; readonly path: string };

async function cloneAndDelete({ csi }: DevSetting, { id, sizeBytes }: FilledVolume): Promise<void> {
  const volume_id = await createVolume(csi.controller, 'clone', { sizeBytes, source: id });
  await csi.controller.controller.DeleteVolume({ volume_id });
}

type VolumeRequest = { readonly name: string; readonly sizeBytes: number; readonly dataBytes: number };

/** Makes a volume with its data spread over it in durable pieces of 4 MiB. */
async function fillVolume(
  { dir, csi }: DevSetting,
  { name, sizeBytes, dataBytes }: VolumeRequest,
): Promise<FilledVolume> {
  const id = await createVolume(csi.controller, name, { sizeBytes });
  const path = join(dir, 'dev/images', `${id}.img`);
  const piece = Buffer.alloc(4 * MiB, 'data');
  const pieces = dataBytes / piece.length;
  await using file = await open(path, 'r+');
  for (let index = 0; index < pieces; index++)
    await file.write(piece, 0, piece.length, Math.floor(sizeBytes / pieces / MiB) * MiB * index);
  await file.sync();
  return { id, sizeBytes, path };
}

async function shareBlocks(source: string, target: string): Promise<void> {
  await copyFile(source, target, constants.COPYFILE_FICLONE_FORCE);
  await using file = await open(target, 'r');
  await file.sync();
}

async function copySparsely(source: string, target: string): Promise<void> {
  await run('cp', ['--sparse=always', '--', source, target]);
  await run('sync', ['--', target]);
}

/** Runs work on a new filesystem of this kind, in a sparse file. */
function onDisk<T>(filesystem: string, work: (dir: string) => Promise<T>): Promise<T> {
  return inDirectory(async temporary => {
    const [disk, dir] = [join(temporary, 'disk'), join(temporary, 'pool')];
    writeFileSync(disk, '');
    truncateSync(disk, diskBytes);
    mkdirSync(dir);
    await run(`mkfs.${filesystem}`, ['-q', disk]);
    await run('mount', ['--options', 'loop', '--', disk, dir]);
    return work(dir);
  });
}
