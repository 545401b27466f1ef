import { lstatSync, watch, type FSWatcher } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname } from 'node:path';
import type { Log } from '../lib/log.ts';

/** A socket of ours that is to stay at its path. */
export type KeepOptions = {
  readonly path: string;
  /** Listens at the path, in place of whatever lies there; called only when nobody else listens there. */
  readonly bind: () => Promise<void>;
  readonly log: Log;
  /** How often the path is looked at when no event came, in milliseconds. */
  readonly pollMs?: number;
};

/** A socket that is bound again whenever its file is removed or replaced by one that nobody answers. */
export interface KeptSocket {
  /** True when the file at the path is the one that was bound last. */
  isOwn(): boolean;
  /** Removes the file and binds anew, so that whoever watches the directory sees it come; not when another holds it. */
  rebind(): Promise<void>;
  /** Ends the watch, once a bind that runs has ended; the socket itself is left as it is. */
  close(): Promise<void>;
}

const defaultPollMs = 5_000;
/** How long after an event the path is looked at, in milliseconds: one that removes the whole directory has done so. */
const settleMs = 100;

/** Binds a socket and keeps it bound. The first bind's error is thrown; later ones are logged and tried again. */
export async function keepSocket(options: KeepOptions): Promise<KeptSocket> {
  const { path, log, pollMs = defaultPollMs } = options;
  const binding = await createBinding(options);
  let work = Promise.resolve();
  const enqueue = (anew: boolean): Promise<void> => {
    work = work
      .then(() => binding.ensure(anew))
      .catch((error: unknown) =>
        log.warn('socket cannot be bound again yet', { endpoint: path, detail: String(error) }),
      );
    return work;
  };
  let settle: NodeJS.Timeout | undefined;
  const watcher = watchEntry(path, () => {
    clearTimeout(settle);
    settle = setTimeout(() => void enqueue(false), settleMs).unref();
  });
  const poll = setInterval(() => {
    watcher.renew();
    void enqueue(false);
  }, pollMs).unref();
  return {
    isOwn: () => binding.isOwn(),
    rebind: () => enqueue(true),
    async close() {
      clearTimeout(settle);
      clearInterval(poll);
      watcher.close();
      binding.end();
      await work;
    },
  };
}

type Binding = {
  isOwn(): boolean;
  /** Binds when what lies at the path is not ours, or in any case; never in place of what is held by another. */
  ensure(anew: boolean): Promise<void>;
  end(): void;
};

async function createBinding({ path, bind, log }: KeepOptions): Promise<Binding> {
  await bind();
  let own = identityOf(path);
  let isEnded = false;
  let lastFault: string | undefined;
  const isOwn = (): boolean => own !== undefined && identityOf(path) === own;
  return {
    isOwn,
    end: () => void (isEnded = true),
    async ensure(anew) {
      if (isEnded || (!anew && isOwn())) return;
      const fault = isOwn() ? undefined : await whyNotFree(path);
      if (isEnded) return;
      if (fault === undefined) {
        await bind();
        own = identityOf(path);
        if (!anew) log.warn('socket was gone and is bound again', { endpoint: path });
      } else if (fault !== lastFault) log.error('socket is lost', { endpoint: path, detail: fault });
      lastFault = fault;
    },
  };
}

/** True when somebody accepts connections on the socket; false when it is missing or left behind. */
export function isSocketAnswered(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(false);
      else
        reject(
          new Error(`cannot use socket "${socketPath}" (${error.code ?? error.message})`, { cause: error }),
        );
    });
  });
}

/** Why nothing may be bound at the path; undefined when nothing but a dead socket is in the way. */
export async function whyNotFree(path: string): Promise<string | undefined> {
  const dir = dirname(path);
  if (!lstatSync(dir, { throwIfNoEntry: false }))
    return `directory "${dir}" of socket "${path}" does not exist`;
  return whyTaken(path);
}

/** What or who holds the path; undefined when nothing lies there, or a socket that nobody answers. */
export async function whyTaken(path: string): Promise<string | undefined> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && !found.isSocket()) return `"${path}" exists and is not a socket`;
  if (await isSocketAnswered(path)) return `socket "${path}" is in use by a live instance`;
  return undefined;
}

/** Tells a file from every other, one of the same name and inode that came later included. */
function identityOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}

type EntryWatch = { renew(): void; close(): void };

/** Watches one name in its directory. `renew` watches again when the directory is another one than before. */
function watchEntry(path: string, changed: () => void): EntryWatch {
  const dir = dirname(path);
  let watcher: FSWatcher | undefined;
  let watched: string | undefined;
  const close = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  const renew = (): void => {
    const found = identityOf(dir);
    if (watcher && found === watched) return;
    close();
    watched = found;
    try {
      watcher = watch(dir, { persistent: false }, (_, name) => {
        if (name === null || name === basename(path)) changed();
      });
      watcher.on('error', close);
    } catch {
      // No watch can be had, as when the machine's limit is reached: the poll is left.
    }
  };
  renew();
  return { renew, close };
}
