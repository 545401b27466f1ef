import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { text } from '../../src/lib/parsers.ts';
import { storeSetting } from '../config.ts';

/** Copies everything that a SQLite store remembers, as it is at one moment, to one file. */
export const backupStoreCommand = {
  settings: {
    from: {
      doc: 'the SQLite file, as --store of the gateway has it; a gateway may run on it',
      parse: storeSetting,
    },
    to: { doc: 'the file that the copy replaces once it is whole and durable', parse: text },
  },
  async run({ from, to }: { readonly from: ReturnType<typeof storeSetting>; readonly to: string }) {
    if (from.kind !== 'sqlite') throw new Error('a PostgreSQL store is copied with pg_dump');
    await backupStore(from.path, to);
  },
};

/** A part at a time would begin anew whenever a busy gateway commits. */
const allPages = 2 ** 31 - 1;

/**
 * Copies the store at `path` to the file `target`, mode 0600, which is there whole or as it was. Throws with one line when
 * there is no store, or when what was copied is damaged.
 */
export async function backupStore(path: string, target: string): Promise<void> {
  if (!existsSync(path)) throw new Error(`there is no store "${path}"`);
  const draft = `${target}.draft`;
  const remove = (): void => rmSync(draft, { force: true });
  remove();
  using unfinished = new DisposableStack();
  unfinished.defer(remove);
  // SQLite would make it readable to others until it is whole.
  writeFileSync(draft, '', { mode: 0o600, flag: 'wx' });
  using source = new DatabaseSync(path, { readOnly: true });
  await backup(source, draft, { rate: allPages });
  requireSound(draft);
  await syncPath(draft);
  renameSync(draft, target);
  await syncPath(dirname(target));
}

function requireSound(path: string): void {
  using copy = new DatabaseSync(path);
  // The copy needs no log of its own.
  copy.exec('pragma journal_mode = delete');
  const [found] = copy.prepare('pragma integrity_check').all();
  if (found?.['integrity_check'] !== 'ok')
    throw new Error(`the store is damaged: ${String(found?.['integrity_check'])}`);
  if (copy.prepare("select 1 from sqlite_schema where name = 'store_identity'").all().length === 0)
    throw new Error('this is no store of a gateway');
}

async function syncPath(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}
