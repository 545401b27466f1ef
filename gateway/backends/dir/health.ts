import { constants } from 'node:fs';
import { access, opendir, statfs } from 'node:fs/promises';
import type { HealthEntry, VolumeRef } from '../../backend.ts';
import { statPath, volumeDirectory } from './paths.ts';

/** What is wrong with a volume's directory and with the filesystem that it lies on. */
export async function healthOf(root: string, { id }: VolumeRef): Promise<readonly HealthEntry[]> {
  const fault = await directoryFault(volumeDirectory(root, id).path, id);
  if (fault) return [fault];
  const entries = [await writeFault(root), await spaceFault(root)];
  return entries.filter(entry => entry !== undefined);
}

async function directoryFault(path: string, id: string): Promise<HealthEntry | undefined> {
  const status = 'DATA_LOSS';
  try {
    const found = await statPath(path);
    if (!found)
      return { status, reason: 'DirectoryMissing', message: `the directory of volume "${id}" is missing` };
    if (!found.isDirectory())
      return {
        status,
        reason: 'DirectoryReplaced',
        message: `"${path}" of volume "${id}" is not a directory`,
      };
    await using directory = await opendir(path);
    await directory.read();
    return undefined;
  } catch (error) {
    const message = `the directory of volume "${id}" cannot be read (${codeOf(error)})`;
    return { status: 'INACCESSIBLE', reason: 'DirectoryUnreadable', message };
  }
}

async function writeFault(root: string): Promise<HealthEntry | undefined> {
  try {
    await access(root, constants.W_OK);
    return undefined;
  } catch (error) {
    const message = `the filesystem of the volumes cannot be written (${codeOf(error)})`;
    return { status: 'DEGRADED', reason: 'PoolReadOnly', message };
  }
}

/** Volumes share one filesystem, and nothing keeps one from filling it. */
async function spaceFault(root: string): Promise<HealthEntry | undefined> {
  if ((await statfs(root)).bavail > 0) return undefined;
  const message = 'the filesystem of the volumes is full';
  return { status: 'DEGRADED', reason: 'PoolFull', message };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}
