import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { storeSetting } from '../config.ts';
import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';
import { openPostgres } from '../stores/postgres.ts';
import { openSqlite } from '../stores/sqlite.ts';
import { copiedMark, migrate, tables } from '../tables/schema.ts';

type Table = (typeof tables)[number];
/** What a table holds: how many rows, and a hash of all of them in the order of their keys. */
type Content = { readonly table: string; readonly rows: number; readonly sha256: string };

/** So many rows are read, and written, at a time. */
const pieceSize = 500;

/** Copies everything that a SQLite store remembers to PostgreSQL. */
export const migrateStoreCommand = {
  settings: {
    from: {
      doc: 'the SQLite file, as --store of the gateway has it; no gateway may run on it',
      parse: storeSetting,
    },
    to: {
      doc: 'postgres:<path of a file that holds the connection URL> of a database that is empty, or was copied to before',
      parse: storeSetting,
    },
  },
  async run(
    { from, to }: Readonly<Record<'from' | 'to', ReturnType<typeof storeSetting>>>,
    { out }: { readonly out: (text: string) => void },
  ): Promise<number> {
    if (from.kind !== 'sqlite' || to.kind !== 'postgres')
      throw new Error('a store can be copied from sqlite to postgres, and no other way');
    const { contents, isNew } = await migrateStore(from.path, to.path);
    for (const { table, rows, sha256 } of contents) out(`${table} ${rows} ${sha256}\n`);
    out(
      isNew ? 'copied: counts and hashes are equal\n' : 'it was copied before: counts and hashes are equal\n',
    );
    return 0;
  },
};

/**
 * Copies the store in one transaction, in which counts and hashes are compared, so that it is there whole or not at all.
 * `isNew` is false when it was there already, as it is. The file is marked then, also when it was there and has changed: a gateway that starts on it is refused. Throws with one line when a gateway runs on the SQLite file, or the
 * database holds another store, or this one as it became since.
 */
export async function migrateStore(
  path: string,
  urlFile: string,
): Promise<{ readonly contents: readonly Content[]; readonly isNew: boolean }> {
  if (!existsSync(path)) throw new Error(`there is no store "${path}"`);
  lockAlone(path).close();
  const id = await bringUpToDate(path);
  const source = lockAlone(path);
  const engine = await openPostgres(urlFile);
  try {
    const known = await findIdentity(engine.reader);
    if (known !== undefined && known !== id)
      throw new Error(`the database of "${urlFile}" holds another store`);
    await migrate(engine, { newId: id });
    const reader: Reader = {
      all: async (sql, ...values) => source.prepare(sql).all(...values) as readonly SqlRow[],
    };
    const contents = await readContents(reader);
    const found = await engine.transaction(async sql => {
      await sql.lock('schema', 'version');
      const before = await readContents(sql);
      if (isDeepStrictEqual(before, contents)) return 'same';
      if (before.some(({ rows }) => rows > 0)) return 'other';
      for (const table of tables) await copy(table, reader, sql);
      if (!isDeepStrictEqual(await readContents(sql), contents))
        throw new Error('what was copied is not what is in the SQLite file; nothing was changed');
      return 'nothing';
    });
    // The copy may be one that broke off before this, on which gateways have worked since; or they have on the file, adopted again.
    if (found !== 'other' || (await readSeen(engine.reader)) > (await readSeen(reader)))
      markCopied(source, id);
    if (found === 'other')
      throw new Error(`the database of "${urlFile}" has this store already, and it has changed since`);
    return { contents, isNew: found === 'nothing' };
  } finally {
    source.close();
    await engine.close();
  }
}

/** Holds the file so that nobody else can use it until it is closed; throws when somebody does. */
function lockAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    // Only who is alone can end the log.
    database.exec('pragma journal_mode = delete; begin exclusive');
    return database;
  } catch (error) {
    database.close();
    throw new Error(`the store "${path}" is in use: end its gateways first`, { cause: error });
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

/** No gateway takes up the file any more, unless it is told to. */
function markCopied(source: DatabaseSync, id: string): void {
  source.prepare('update store_identity set id = ?').run(`${copiedMark}${id}`);
  source.exec('commit');
}

/** The id of the store that the database has; undefined when it has none. */
async function findIdentity(reader: Reader): Promise<SqlValue | undefined> {
  const [known] = await reader.all(
    "select 1 from information_schema.tables where table_schema = current_schema() and table_name = 'store_identity'",
  );
  return known && (await reader.all('select id from store_identity'))[0]?.['id'];
}

/** When a gateway last looked at the store. */
async function readSeen(reader: Reader): Promise<number> {
  const [row] = await reader.all("select seen_ms from clock where name = 'gateway'");
  return Number(row?.['seen_ms'] ?? 0);
}

async function copy({ name, columns }: Table, from: Reader, sql: Sql): Promise<void> {
  const marks = columns.map(() => '?').join(', ');
  const inserting = `insert into ${name} (${columns.join(', ')}) values (${marks})`;
  for await (const rows of readRows(from, name)) {
    for (const row of rows.slice(1)) await sql.write(inserting, ...row);
    await sql.run(inserting, ...(rows[0] ?? []));
  }
}

async function readContents(reader: Reader): Promise<readonly Content[]> {
  const contents: Content[] = [];
  for (const { name } of tables) {
    const hash = createHash('sha256');
    let count = 0;
    for await (const rows of readRows(reader, name)) {
      count += rows.length;
      for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
    }
    contents.push({ table: name, rows: count, sha256: hash.digest('hex') });
  }
  return contents;
}

/** All rows of the table by its key, some at a time. */
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
