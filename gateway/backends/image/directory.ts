import { closeSync, constants, fsync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/** A directory whose entries can be made durable. */
export interface Directory {
  /** Makes the entries durable; calls at about the same time share one fsync. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

const syncFile = promisify(fsync);

/** Opens a directory; a link in its place is refused. */
export function openDirectory(path: string): Directory {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  let syncing: Promise<void> | undefined;
  return {
    sync() {
      syncing ??= new Promise(setImmediate).then(() => {
        syncing = undefined;
        return syncFile(fd);
      });
      return syncing;
    },
    async close() {
      await syncing?.catch(() => {});
      closeSync(fd);
    },
  };
}
