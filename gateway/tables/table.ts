import type { Segments } from '../../src/api/topology.ts';
import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';

/** How one property of a record is held in one column, whose name is the property's in snake_case. */
export type Column<T> = {
  /** As `create table` has it. */
  readonly type: string;
  encode(value: T): SqlValue;
  decode(value: SqlValue): T;
};

type Columns = Readonly<Record<string, Column<unknown>>>;

/** A record with one property for each column. */
export type RecordOf<C> = { readonly [P in keyof C]: C[P] extends Column<infer T> ? T : never };

/** What follows the equalities in a query, beginning with `and`, `order by` or `limit`, and its values. */
type Tail = readonly [sql?: string, ...values: SqlValue[]];

/** Records of one kind, named by the properties of `key`; each of `indexes` is what follows `create index`. */
export function table<C extends Columns, K extends keyof C & string>(
  name: string,
  {
    key,
    columns,
    indexes = [],
  }: { readonly key: readonly K[]; readonly columns: C; readonly indexes?: readonly string[] },
) {
  type R = RecordOf<C>;
  const properties = Object.keys(columns) as readonly (keyof C & string)[];
  const nameOf = Object.fromEntries(properties.map(one => [one, toSnakeCase(one)])) as Record<
    keyof C,
    string
  >;
  const names = properties.map(one => nameOf[one]);
  const decoding = Object.entries(columns).map(([property, { decode: read }]) => ({
    property,
    name: nameOf[property] ?? '',
    read,
  }));
  const keyNames = key.map(one => nameOf[one]);
  const whereKey = keyNames.map(one => `${one} = ?`).join(' and ');
  const inserting = `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`;
  const conflict = `on conflict (${keyNames.join(', ')}) do`;
  const changed = names.filter(one => !keyNames.includes(one)).map(one => `${one} = excluded.${one}`);
  const putting = `${inserting} ${conflict} update set ${changed.join(', ')}`;
  const selecting = `select ${names.join(', ')} from ${name}`;
  const finding = `${selecting} where ${whereKey}`;
  /** Queries by what they ask for: a text that is made anew is looked up among prepared ones by all its characters. */
  const queries = new Map<string, string>();

  function selectingBy(given: readonly (keyof C & string)[]): string {
    const where = ['true', ...given.map(property => `${nameOf[property]} = ?`)].join(' and ');
    return `${selecting} where ${where} `;
  }

  function encode(some: readonly (keyof C & string)[], record: Partial<R>): readonly SqlValue[] {
    return some.map(property => columns[property]?.encode(record[property]) ?? null);
  }

  function decode(row: SqlRow): R {
    const record: Partial<Record<string, unknown>> = {};
    for (const { property, name: column, read } of decoding) record[property] = read(row[column] ?? null);
    return record as R;
  }

  const decodeFirst = ([row]: readonly SqlRow[]): R | undefined => row && decode(row);
  const decodeAll = (rows: readonly SqlRow[]): readonly R[] => rows.map(decode);

  return {
    name,
    /** The names of all its columns, and of those of its key. */
    columns: names,
    key: keyNames,
    /** What makes the table. */
    ddl: [
      `create table ${name} (
        ${properties.map(one => `${nameOf[one]} ${columns[one]?.type}`).join(', ')},
        primary key (${keyNames.join(', ')})
      )`,
      ...indexes.map(index => `create index ${index}`),
    ],
    /** False when the key is taken; nothing is changed then. */
    async insert(sql: Sql, record: R): Promise<boolean> {
      return (await sql.run(`${inserting} ${conflict} nothing`, ...encode(properties, record))) > 0;
    },
    /** Records it; nothing is changed when the key is taken. */
    async add(sql: Sql, record: R): Promise<void> {
      await sql.write(`${inserting} ${conflict} nothing`, ...encode(properties, record));
    },
    /** Records it in place of what has the same key. */
    async replace(sql: Sql, record: R): Promise<void> {
      await sql.write(putting, ...encode(properties, record));
    },
    /** The statement that records it in place of what has the same key where `tail` holds for that, and its values. */
    putting(record: R, ...[tail = '', ...values]: Tail): readonly [sql: string, ...values: SqlValue[]] {
      return [`${putting} ${tail}`, ...encode(properties, record), ...values];
    },
    find(sql: Reader, record: Pick<R, K>): Promise<R | undefined> {
      return sql.all(finding, ...encode(key, record as Partial<R>)).then(decodeFirst);
    },
    /** The records with these properties. */
    select(sql: Reader, same: Partial<R>, ...[tail = '', ...values]: Tail): Promise<readonly R[]> {
      const given = Object.keys(same) as readonly (keyof C & string)[];
      const query = queries.getOrInsertComputed(
        `${given.join(' ')} ${tail}`,
        () => selectingBy(given) + tail,
      );
      return sql.all(query, ...encode(given, same), ...values).then(decodeAll);
    },
    /** Changes only what is given; no such record is fine. */
    async update(sql: Sql, record: Pick<R, K>, changes: Partial<R>): Promise<void> {
      const given = properties.filter(property => property in changes);
      const set = given.map(property => `${nameOf[property]} = ?`).join(', ');
      const values = [...encode(given, changes), ...encode(key, record as Partial<R>)];
      await sql.write(`update ${name} set ${set} where ${whereKey}`, ...values);
    },
    /** No such record is fine. */
    async remove(sql: Sql, record: Pick<R, K>): Promise<void> {
      await sql.write(`delete from ${name} where ${whereKey}`, ...encode(key, record as Partial<R>));
    },
  };
}

/** Text, or one of a few words. */
export function text<T extends string = string>(): Column<T> {
  return { type: 'text not null', encode: value => value, decode: value => String(value) as T };
}

/** A whole number up to 2^53. */
export function integer(): Column<number> {
  return { type: 'bigint not null', encode: value => value, decode: Number };
}

/** True or false, as 1 or 0. */
export function boolean(): Column<boolean> {
  return { type: 'integer not null', encode: value => (value ? 1 : 0), decode: value => value === 1 };
}

/** Plain data. */
export function json<T>(): Column<T> {
  return {
    type: 'text not null',
    encode: value => JSON.stringify(value),
    decode: value => JSON.parse(String(value)) as T,
  };
}

/** A topology, by which it can be compared: the same text for the same segments, whatever their order. */
export function segments(): Column<Segments> {
  return { ...json<Segments>(), encode: segmentsText };
}

/** The text of a topology in its column. */
export function segmentsText(topology: Segments): string {
  return JSON.stringify(Object.fromEntries(Object.entries(topology).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** What may be undefined, as null. */
export function optional<T>({ type, encode, decode }: Column<T>): Column<T | undefined> {
  return {
    type: type.replace(' not null', ''),
    encode: value => (value === undefined ? null : encode(value)),
    decode: value => (value === null ? undefined : decode(value)),
  };
}

function toSnakeCase(property: string): string {
  return property.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
