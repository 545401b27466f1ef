import { execFile } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { image } from '../../../gateway/backends/image.ts';
import type { NodeAccess } from '../../../gateway/backend.ts';
import type { ExportedRef, ExportedVolume, ExportPlugin } from '../../../gateway/export.ts';
import { openLoop } from '../../../gateway/exports/loop.ts';
import { ignore } from '../../../gateway/local/files.ts';
import { loopDevicesOf } from '../../../gateway/local/loop-devices.ts';
import type { Reach } from '../../../src/api/attachment.ts';

const settings = z.strictObject({ protocol: z.literal('loop') });
const cutOff = fileURLToPath(new URL('../../../node-agent/connectors/loop/cut-off.ts', import.meta.url));
const run = promisify(execFile);

const cutting: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: () => 'loop',
  kindsOf: () => ['file'],
  async open() {
    const loop = openLoop();
    return { ...loop, publish: (volume, access) => publish(volume, access, loop), withdraw };
  },
};

/**
 * A pool of images that cuts off a node whose loop device still has the image, as a storage behind a network does. The nodes
 * of a site share one kernel, so the cut is played: the device loses its size, and the volume gets a copy of its file, so that
 * nothing that the device still writes reaches the volume. The kernel writes the device's page cache before, which the kernel
 * of a machine that is really off could not.
 */
export const backend = image(cutting);

/** Gives the file a path of its own: another path after each cut, so that an agent finds only the devices of its own node. */
async function publish(
  volume: ExportedVolume,
  access: NodeAccess,
  loop: ReturnType<typeof openLoop>,
): Promise<Reach> {
  const path = await wayTo(volume);
  await mkdir(dirname(path), { recursive: true });
  await link(volume.path, path).catch(ignore('EEXIST'));
  return loop.publish({ ...volume, path }, access);
}

async function withdraw(volume: ExportedRef): Promise<void> {
  const { path } = volume;
  if (!existsSync(path)) return;
  const way = await wayTo(volume);
  const devices = await loopDevicesOf(path);
  for (const device of devices) await run(process.execPath, [cutOff, `/dev/${device}`, '']);
  if (devices.length > 0) {
    const draft = `${path}.draft`;
    await copyFile(path, draft, constants.COPYFILE_FICLONE_FORCE);
    await rename(draft, path);
  }
  await rm(way, { force: true });
}

async function wayTo({ path }: ExportedRef): Promise<string> {
  return join(dirname(path), '.ways', `${(await stat(path)).ino}.img`);
}
