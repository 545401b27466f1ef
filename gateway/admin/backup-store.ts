import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { text } from '../../src/lib/parsers.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import { type Notices, withNotice } from '../../src/lib/words/notice.ts';
import { storeSetting } from '../config.ts';

/** Copies a SQLite store, as it is at one moment, to a file. */
export const backupStoreCommand = {
  settings: {
    from: {
      doc: 'the SQLite file, as in --store of the gateway; a gateway may run on it',
      parse: storeSetting,
    },
    to: { doc: 'the file that the copy replaces once it is whole and durable', parse: text },
  },
  async run(
    { from, to }: { readonly from: ReturnType<typeof storeSetting>; readonly to: string },
    { notices }: { readonly notices?: Notices } = {},
  ) {
    if (from.kind !== 'sqlite')
      throw new Error('this command copies a SQLite store; copy a PostgreSQL store with pg_dump');
    await withNotice(backupStore(from.path, to, notices), { what: `the copy of "${from.path}"` }, notices);
  },
};

/** One step for all pages. A copy in several steps would start again at each commit of a busy gateway. */
const allPages = 2 ** 31 - 1;

/**
 * Copies the store at `path` to the file `target` with mode 0600. The target is either the whole copy or
 * unchanged. Throws one line when there is no store, or when the copy is damaged.
 */
export async function backupStore(path: string, target: string, notices?: Notices): Promise<void> {
  if (!existsSync(path)) throw new Error(`there is no store "${path}"`);
  const draft = `${target}.draft`;
  const remove = (): void => rmSync(draft, { force: true });
  remove();
  using unfinished = new DisposableStack();
  unfinished.defer(remove);
  // SQLite would create the file readable to others until the copy is complete.
  writeFileSync(draft, '', { mode: 0o600, flag: 'wx' });
  await copyAtOnce(path, draft);
  // The check keeps the thread busy, so no timer could announce it.
  notices?.show({ what: 'the check of the copy' }, 0);
  unfinished.defer(() => notices?.clear());
  requireSound(draft);
  await syncPath(draft);
  renameSync(draft, target);
  await syncPath(dirname(target));
}

async function copyAtOnce(path: string, draft: string): Promise<void> {
  try {
    using source = new DatabaseSync(path, { readOnly: true });
    await backup(source, draft, { rate: allPages });
  } catch (error) {
    // `backup` does not wait for a lock, and reports one without SQLite's code.
    const { errcode } = error as { readonly errcode?: number };
    const reason =
      errcode === 0
        ? 'another process has locked it, such as "admin migrate-store"; try again'
        : reasonOf(error);
    throw new Error(`the store "${path}" cannot be copied: ${reason}`, { cause: error });
  }
}

function requireSound(path: string): void {
  using copy = new DatabaseSync(path);
  // The copy needs no log of its own.
  copy.exec('pragma journal_mode = delete');
  const [found] = copy.prepare('pragma integrity_check').all();
  if (found?.['integrity_check'] !== 'ok')
    throw new Error(`the store is damaged: ${String(found?.['integrity_check'])}`);
  if (copy.prepare("select 1 from sqlite_schema where name = 'store_identity'").all().length === 0)
    throw new Error('the file is not the store of a gateway');
}

async function syncPath(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}
