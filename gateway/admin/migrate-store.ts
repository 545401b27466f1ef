import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Notices, type Progress, withNotice } from '../../src/lib/words/notice.ts';
import { storeSetting } from '../config.ts';
import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';
import { openPostgres } from '../stores/postgres.ts';
import { openSqlite } from '../stores/sqlite.ts';
import { copiedMark, migrate, tables } from '../tables/schema.ts';

type Table = (typeof tables)[number];
/** The content of a table: the number of rows, and a hash of all rows in the order of their keys. */
type Content = { readonly table: string; readonly rows: number; readonly sha256: string };

/** The number of rows in one read or write. */
const pieceSize = 500;

/** Copies a SQLite store to PostgreSQL. */
export const migrateStoreCommand = {
  settings: {
    from: {
      doc: 'the SQLite file, as in --store of the gateway; no gateway may run on it',
      parse: storeSetting,
    },
    to: {
      doc: 'postgres:<path of a file that holds the connection URL> of a database that is empty or holds an earlier copy',
      parse: storeSetting,
    },
  },
  async run(
    { from, to }: Readonly<Record<'from' | 'to', ReturnType<typeof storeSetting>>>,
    { out, notices }: { readonly out: (text: string) => void; readonly notices?: Notices },
  ): Promise<number> {
    if (from.kind !== 'sqlite' || to.kind !== 'postgres')
      throw new Error('--from must be a SQLite store and --to a PostgreSQL store');
    let progress: Progress = { what: 'the store and the database' };
    const report = (now: Progress): void => void (progress = now);
    const work = migrateStore(from.path, to.path, report);
    const { contents, isNew } = await withNotice(work, () => progress, notices);
    for (const { table, rows, sha256 } of contents) out(`${table} ${rows} ${sha256}\n`);
    out(isNew ? 'copied: counts and hashes are equal\n' : 'already copied: counts and hashes are equal\n');
    return 0;
  },
};

/**
 * Copies the store in one transaction that compares counts and hashes, so that the copy is complete or
 * absent. `isNew` is false if the same copy was there before. Then the file is marked, so that a gateway that
 * starts on it is refused; this also happens if the copy was there and has changed. Throws one line when a
 * gateway runs on the SQLite file, or when the database holds another store or a later state of this one. Calls
 * `report` with the part of the work that runs, and the rows that it has gone through.
 */
export async function migrateStore(
  path: string,
  urlFile: string,
  report: (progress: Progress) => void = () => {},
): Promise<{ readonly contents: readonly Content[]; readonly isNew: boolean }> {
  if (!existsSync(path)) throw new Error(`there is no store "${path}"`);
  lockAlone(path).close();
  const id = await bringUpToDate(path);
  const source = lockAlone(path);
  const engine = await openPostgres(urlFile);
  try {
    report({ what: `the database of "${urlFile}"` });
    const known = await findIdentity(engine.reader);
    if (known !== undefined && known !== id)
      throw new Error(`the database of "${urlFile}" holds another store; use an empty database`);
    await migrate(engine, { newId: id });
    const reader: Reader = {
      async all(sql, ...values) {
        // SQLite reads at once, and timers must run meanwhile.
        await setImmediate();
        return source.prepare(sql).all(...values) as readonly SqlRow[];
      },
    };
    const total = await countRows(reader);
    /** Counts the rows of a part of the work. */
    const counter = (what: string) => {
      let done = 0;
      const add = (count: number): void => report({ what, done: (done += count), total, unit: 'rows' });
      add(0);
      return add;
    };
    const contents = await readContents(reader, counter(`the rows of "${path}"`));
    const found = await engine.transaction(async sql => {
      await sql.lock('schema', 'version');
      const before = await readContents(sql, counter(`the rows of "${urlFile}"`));
      if (isDeepStrictEqual(before, contents)) return 'same';
      if (before.some(({ rows }) => rows > 0)) return 'other';
      const add = counter('the copy');
      for (const table of tables) await copy(table, { from: reader, add }, sql);
      if (!isDeepStrictEqual(await readContents(sql, counter('the comparison of the copy')), contents))
        throw new Error('the copy differs from the SQLite file, so nothing was changed; run this again');
      return 'nothing';
    });
    // Gateways may have worked on a copy whose earlier run broke off before the mark; or on the file, after
    // it was adopted again.
    if (found !== 'other' || (await readSeen(engine.reader)) > (await readSeen(reader)))
      markCopied(source, id);
    if (found === 'other')
      throw new Error(
        `the database of "${urlFile}" already holds a copy of this store, which has changed since; use an empty database`,
      );
    report({ what: `the statistics of "${urlFile}"` });
    // Without them the first queries choose bad plans.
    for (const { name } of tables) await engine.transaction(sql => sql.run(`analyze ${name}`));
    return { contents, isNew: found === 'nothing' };
  } finally {
    source.close();
    await engine.close();
  }
}

/** SQLite's code of a file that is none of its own. */
const notDatabase = 26;

/** Locks the file against every other use until it is closed. Throws when it is in use. */
function lockAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    // Only the sole user of the file can end the log.
    database.exec('pragma journal_mode = delete; begin exclusive');
    return database;
  } catch (error) {
    database.close();
    const { errcode } = error as { readonly errcode?: number };
    const fault = errcode === notDatabase ? 'is not a SQLite file' : 'is in use: stop its gateways first';
    throw new Error(`the store "${path}" ${fault}`, { cause: error });
  }
}

async function bringUpToDate(path: string): Promise<string> {
  const engine = openSqlite(path);
  try {
    return await migrate(engine, { ifCopied: 'look' });
  } finally {
    await engine.close();
  }
}

/** Marks the file. Gateways refuse it until they are told to adopt it. */
function markCopied(source: DatabaseSync, id: string): void {
  source.prepare('update store_identity set id = ?').run(`${copiedMark}${id}`);
  source.exec('commit');
}

/** Finds the id of the store in the database; undefined if there is none. */
async function findIdentity(reader: Reader): Promise<SqlValue | undefined> {
  const [known] = await reader.all(
    "select 1 from information_schema.tables where table_schema = current_schema() and table_name = 'store_identity'",
  );
  return known && (await reader.all('select id from store_identity'))[0]?.['id'];
}

/** Reads the time of the last look of a gateway at the store. */
async function readSeen(reader: Reader): Promise<number> {
  const [row] = await reader.all("select seen_ms from clock where name = 'gateway'");
  return Number(row?.['seen_ms'] ?? 0);
}

/** Called with the number of rows that were gone through. */
type Counter = (count: number) => void;

async function countRows(reader: Reader): Promise<number> {
  let total = 0;
  for (const { name } of tables) {
    const [row] = await reader.all(`select count(*) as count from ${name}`);
    total += Number(row?.['count'] ?? 0);
  }
  return total;
}

async function copy(
  { name, columns }: Table,
  { from, add }: { readonly from: Reader; readonly add: Counter },
  sql: Sql,
): Promise<void> {
  const marks = columns.map(() => '?').join(', ');
  const inserting = `insert into ${name} (${columns.join(', ')}) values (${marks})`;
  for await (const rows of readRows(from, name)) {
    for (const row of rows.slice(1)) await sql.write(inserting, ...row);
    await sql.run(inserting, ...(rows[0] ?? []));
    add(rows.length);
  }
}

async function readContents(reader: Reader, add: Counter): Promise<readonly Content[]> {
  const contents: Content[] = [];
  for (const { name } of tables) {
    const hash = createHash('sha256');
    let count = 0;
    for await (const rows of readRows(reader, name)) {
      count += rows.length;
      add(rows.length);
      for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
    }
    contents.push({ table: name, rows: count, sha256: hash.digest('hex') });
  }
  return contents;
}

/** Reads all rows of the table by key, some at a time. */
async function* readRows(reader: Reader, name: string): AsyncGenerator<readonly (readonly SqlValue[])[]> {
  const { columns, key } = tables.find(table => table.name === name) ?? { columns: [], key: [] };
  const keys = key.join(', ');
  const selecting = `select ${columns.join(', ')} from ${name}`;
  const after = `where (${keys}) > (${key.map(() => '?').join(', ')})`;
  for (let last: readonly SqlValue[] | undefined; ;) {
    const query = `${selecting} ${last ? after : ''} order by ${keys} limit ${pieceSize}`;
    const rows = await reader.all(query, ...(last ?? []));
    const end = rows.at(-1);
    if (!end) return;
    yield rows.map(row => columns.map(column => row[column] ?? null));
    last = key.map(column => end[column] ?? null);
  }
}
