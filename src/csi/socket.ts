import { isSocketAnswered } from '../lib/unix-socket.ts';
import { lstatSync, rmSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';

/** A socket of ours that is to stay at its path. */
export type KeepOptions = {
  readonly path: string;
  /** Listens at the path, at which nothing lies; its own earlier file there is its to remove. */
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

/**
 * Binds a socket and keeps it bound. That it may not be bound is thrown at first, and any error of that bind; later ones
 * are logged and tried again.
 */
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
  const taken = await clear(path);
  if (taken !== undefined) throw new Error(taken);
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
      const fault = isOwn() ? undefined : await clear(path);
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

/** How long after it was made a socket may still not listen, in milliseconds. */
const newMs = 250;

function isNew(path: string): boolean {
  const ageMs = Date.now() - (lstatSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? 0);
  return ageMs >= 0 && ageMs < newMs;
}

/** Removes a dead socket, and nothing else; tells why nothing may be bound at the path, or undefined. */
async function clear(path: string): Promise<string | undefined> {
  const dir = dirname(path);
  if (!lstatSync(dir, { throwIfNoEntry: false }))
    return `directory "${dir}" of socket "${path}" does not exist`;
  for (;;) {
    const seen = identityOf(path);
    const fault = await whyTaken(path);
    if (fault !== undefined) return fault;
    // What came while the other one was asked is not known to be dead, nor is what may be about to listen.
    if (identityOf(path) !== seen) continue;
    if (seen === undefined) return undefined;
    if (!isNew(path)) {
      rmSync(path, { force: true });
      return undefined;
    }
    await sleep(newMs / 10);
  }
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
