import { execFile } from 'node:child_process';
import { constants, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { copyFile, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { timeInTurns, type Bench, type Figure } from './figure.ts';
import { inDirectory, withDev, type DevSetting } from './setting.ts';
import { createVolume } from './volume.ts';

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const diskBytes = 24 * GiB;
const rounds = 6;
const run = promisify(execFile);

/** How long a clone takes, and on what that depends. */
export const cloneBench: Bench = {
  name: 'clone',
  doc: 'CreateVolume from a volume of 10 GiB with 1 GiB of data, on three filesystems, beside a durable copy by hand',
  run: async () => [
    ...(await measureOn('xfs', shareBlocks)),
    ...(await measureOn('btrfs', shareBlocks)),
    ...(await measureOn('ext4', copySparsely)),
  ],
};

/** A durable copy of a file. */
type Copy = (source: string, target: string) => Promise<void>;

function measureOn(filesystem: string, copy: Copy): Promise<readonly Figure[]> {
  return onDisk(filesystem, dir =>
    withDev(dir, async setting => {
      const large = await fillVolume(setting, { name: 'large', sizeBytes: 10 * GiB, dataBytes: GiB });
      const small = await fillVolume(setting, { name: 'small', sizeBytes: GiB, dataBytes: 100 * MiB });
      const target = join(dir, 'by-hand');
      const { ofLarge, ofSmall, byHand } = await timeInTurns(rounds, {
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

/** A volume, and where its image is. */
type Filled = { readonly id: string; readonly sizeBytes: number; readonly path: string };

async function cloneAndDelete({ csi }: DevSetting, { id, sizeBytes }: Filled): Promise<void> {
  const volume_id = await createVolume(csi.controller, 'clone', { sizeBytes, source: id });
  await csi.controller.controller.DeleteVolume({ volume_id });
}

type Wanted = { readonly name: string; readonly sizeBytes: number; readonly dataBytes: number };

/** A volume with its data in pieces of 4 MiB all over it, durable. */
async function fillVolume({ dir, csi }: DevSetting, { name, sizeBytes, dataBytes }: Wanted): Promise<Filled> {
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

/** Works on a new filesystem of that kind, in a sparse file. */
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
