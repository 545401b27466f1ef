import { Problem } from '../../src/api/problem.ts';
import type { Host } from '../host.ts';
import type { Place } from './target-path.ts';

/** Removes what an unpublish leaves at a target path that is not mounted any more; never what holds data. */
export async function removeLeftover(host: Host, path: string, { kind }: Place): Promise<void> {
  if (kind === 'directory') await removeEmptyDirectory(host, path);
  else if (kind === 'file') await host.removeFile(path);
  else if (kind === 'filled')
    throw new Problem(
      'FAILED_PRECONDITION',
      `target_path "${path}" is not mounted and a file that holds data`,
    );
  else if (kind !== 'nothing')
    throw new Problem('FAILED_PRECONDITION', `target_path "${path}" is neither a file nor a directory`);
}

async function removeEmptyDirectory(host: Host, path: string): Promise<void> {
  try {
    await host.removeDirectory(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    throw new Problem('FAILED_PRECONDITION', `target_path "${path}" is not mounted and not empty`, error);
  }
}
