import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';

/** How one property of a record is held in one column. */
export type Column<T> = {
  readonly name: string;
  encode(value: T): SqlValue;
  decode(value: SqlValue): T;
};

/** One column for each property of a record. */
export type Columns<R> = { readonly [P in keyof R]-?: Column<R[P]> };

/** Records of one kind. `K` are the properties that name one. */
export interface Table<R extends object, K extends keyof R> {
  readonly name: string;
  /** False when the key is taken; nothing is changed then. */
  insert(sql: Sql, record: R): Promise<boolean>;
  /** Records it instead of what has the same key. */
  put(sql: Sql, record: R): Promise<void>;
  find(sql: Reader, key: Pick<R, K>): Promise<R | undefined>;
  /** The records that `rest` selects: all that can stand after the table's name. */
  select(sql: Reader, rest: string, ...values: readonly SqlValue[]): Promise<readonly R[]>;
  /** Changes only what is given. False when there is no such record. */
  update(sql: Sql, key: Pick<R, K>, changes: Partial<R>): Promise<boolean>;
  /** False when there is no such record. */
  remove(sql: Sql, key: Pick<R, K>): Promise<boolean>;
}

/** A table whose columns hold the properties of a record. */
export function table<R extends object, K extends keyof R & string>(
  name: string,
  { key, columns }: { readonly key: readonly K[]; readonly columns: Columns<R> },
): Table<R, K> {
  const entries = Object.entries(columns) as unknown as readonly (readonly [keyof R, Column<unknown>])[];
  const names = entries.map(([, column]) => column.name);
  const keyNames = key.map(property => columns[property].name);
  const whereKey = keyNames.map(one => `${one} = ?`).join(' and ');
  const inserting = `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`;
  const conflict = `on conflict (${keyNames.join(', ')}) do`;
  const changed = names.filter(one => !keyNames.includes(one)).map(one => `${one} = excluded.${one}`);
  const valuesOf = (record: R): readonly SqlValue[] =>
    entries.map(([property, column]) => column.encode(record[property]));
  const keyOf = (record: Pick<R, K>): readonly SqlValue[] =>
    key.map(property => columns[property].encode(record[property]));
  const selecting = `select ${names.join(', ')} from ${name}`;

  async function select(sql: Reader, rest: string, ...values: readonly SqlValue[]): Promise<readonly R[]> {
    const rows = await sql.all(`${selecting} ${rest}`, ...values);
    return rows.map(row => toRecord<R>(entries, row));
  }

  return {
    name,
    select,
    insert: async (sql, record) =>
      (await sql.run(`${inserting} ${conflict} nothing`, ...valuesOf(record))) > 0,
    async put(sql, record) {
      await sql.run(`${inserting} ${conflict} update set ${changed.join(', ')}`, ...valuesOf(record));
    },
    find: async (sql, record) => (await select(sql, `where ${whereKey}`, ...keyOf(record)))[0],
    async update(sql, record, changes) {
      const given = entries.filter(([property]) => property in changes);
      const set = given.map(([, column]) => `${column.name} = ?`).join(', ');
      const values = given.map(([property, column]) => column.encode(changes[property]));
      const count = await sql.run(`update ${name} set ${set} where ${whereKey}`, ...values, ...keyOf(record));
      return count > 0;
    },
    remove: async (sql, record) =>
      (await sql.run(`delete from ${name} where ${whereKey}`, ...keyOf(record))) > 0,
  };
}

/** Text, or one of a few words. */
export function text<T extends string = string>(name: string): Column<T> {
  return { name, encode: value => value, decode: value => String(value) as T };
}

/** A whole number up to 2^53. */
export function integer(name: string): Column<number> {
  return { name, encode: value => value, decode: Number };
}

/** True or false, as 1 or 0. */
export function boolean(name: string): Column<boolean> {
  return { name, encode: value => (value ? 1 : 0), decode: value => value === 1 };
}

/** Plain data. */
export function json<T>(name: string): Column<T> {
  return { name, encode: value => JSON.stringify(value), decode: value => JSON.parse(String(value)) as T };
}

/** What may be undefined, as null. */
export function optional<T>({ name, encode, decode }: Column<T>): Column<T | undefined> {
  return {
    name,
    encode: value => (value === undefined ? null : encode(value)),
    decode: value => (value === null ? undefined : decode(value)),
  };
}

function toRecord<R>(entries: readonly (readonly [keyof R, Column<unknown>])[], row: SqlRow): R {
  const record: Partial<Record<keyof R, unknown>> = {};
  for (const [property, column] of entries) record[property] = column.decode(row[column.name] ?? null);
  return record as R;
}
