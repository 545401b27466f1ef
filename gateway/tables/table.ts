import type { Segments } from '../../src/api/topology.ts';
import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';

/** Maps one property of a record to one column. The column has the property's name in snake_case. */
export type Column<T> = {
  /** The type as `create table` writes it. */
  readonly type: string;
  encode(value: T): SqlValue;
  decode(value: SqlValue): T;
};

type Columns = Readonly<Record<string, Column<unknown>>>;

export type RecordOf<C> = { readonly [P in keyof C]: C[P] extends Column<infer T> ? T : never };

/** The rest of a query behind the equalities, from `and`, `order by` or `limit` on, with its values. */
type Tail = readonly [sql?: string, ...values: SqlValue[]];

/** A piece of a list: at most `limit` records in this order, after the place that `last` names. */
type ListPiece<R, P extends keyof R> = {
  readonly order: readonly P[];
  readonly last: Partial<R>;
  readonly limit: number;
};

/**
 * Defines a table whose rows are named by the properties of `key`. Each of `indexes` follows `create index`,
 * each of `unique` follows `create unique index`.
 */
export function table<C extends Columns, K extends keyof C & string>(
  name: string,
  {
    key,
    columns,
    indexes = [],
    unique = [],
  }: {
    readonly key: readonly K[];
    readonly columns: C;
    readonly indexes?: readonly string[];
    readonly unique?: readonly string[];
  },
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
  const adding = `${inserting} ${conflict} nothing`;
  const removing = `delete from ${name} where ${whereKey}`;
  const whereSame = (given: readonly (keyof C & string)[]): string =>
    ['true', ...given.map(property => `${nameOf[property]} = ?`)].join(' and ');
  /** Query texts, kept: the lookup among prepared statements compares all characters of a text that is built anew. */
  const queries = new Map<string, string>();
  const puts = new Map<string, string>();

  function selectingBy(given: readonly (keyof C & string)[]): string {
    return `${selecting} where ${whereSame(given)} `;
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
    /** The names of all columns. `key` has the columns of the key alone. */
    columns: names,
    key: keyNames,
    ddl: [
      `create table ${name} (
        ${properties.map(one => `${nameOf[one]} ${columns[one]?.type}`).join(', ')},
        primary key (${keyNames.join(', ')})
      )`,
      ...indexes.map(index => `create index ${index}`),
      ...unique.map(index => `create unique index ${index}`),
    ],
    /** Returns false, and changes nothing, when the key is taken. */
    async insert(sql: Sql, record: R): Promise<boolean> {
      return (await sql.run(adding, ...encode(properties, record))) > 0;
    },
    /** Adds the record. When the key is taken, nothing changes. */
    async add(sql: Sql, record: R): Promise<void> {
      await sql.write(adding, ...encode(properties, record));
    },
    /** Returns the statement that adds the record, and its values. `onConflict` decides for a row with the same key. */
    inserting(record: R, onConflict: string): readonly [sql: string, ...values: SqlValue[]] {
      const query = queries.getOrInsertComputed(onConflict, () => `${inserting} ${onConflict}`);
      return [query, ...encode(properties, record)];
    },
    /** Adds the record, or replaces the row with the same key. */
    async replace(sql: Sql, record: R): Promise<void> {
      await sql.write(putting, ...encode(properties, record));
    },
    /**
     * Returns the statement that adds the record, and its values. A row with the same key is replaced only if
     * `tail` is true for it.
     */
    putting(record: R, ...[tail = '', ...values]: Tail): readonly [sql: string, ...values: SqlValue[]] {
      const query = puts.getOrInsertComputed(tail, () => `${putting} ${tail}`);
      return [query, ...encode(properties, record), ...values];
    },
    find(sql: Reader, record: Pick<R, K>): Promise<R | undefined> {
      return sql.all(finding, ...encode(key, record as Partial<R>)).then(decodeFirst);
    },
    select(sql: Reader, same: Partial<R>, ...[tail = '', ...values]: Tail): Promise<readonly R[]> {
      const given = Object.keys(same) as readonly (keyof C & string)[];
      const query = queries.getOrInsertComputed(
        `${given.join(' ')} ${tail}`,
        () => selectingBy(given) + tail,
      );
      return sql.all(query, ...encode(given, same), ...values).then(decodeAll);
    },
    async count(
      sql: Reader,
      { same, max }: { readonly same: Partial<R>; readonly max: number },
      ...[tail = '', ...values]: Tail
    ): Promise<number> {
      const given = Object.keys(same) as readonly (keyof C & string)[];
      const query = queries.getOrInsertComputed(
        `count ${given.join(' ')} ${tail}`,
        () =>
          `select count(*) as number from (select 1 from ${name} where ${whereSame(given)} ${tail} limit ?) as counted`,
      );
      const [row] = await sql.all(query, ...encode(given, same), ...values, max);
      return Number(row?.['number'] ?? 0);
    },
    /**
     * Returns at most `limit` records with the properties of `same` that follow `last`, in the order of other
     * properties.
     */
    selectAfter(
      sql: Reader,
      same: Partial<R>,
      { order, last, limit }: ListPiece<R, keyof C & string>,
    ): Promise<readonly R[]> {
      const ordered = order.map(property => nameOf[property]).join(', ');
      const after = `and (${ordered}) > (${order.map(() => '?').join(', ')}) order by ${ordered}`;
      const tail = `${order.length === 0 ? '' : after} limit ?`;
      return this.select(sql, same, tail, ...encode(order, last), limit);
    },
    /** Changes only the given properties. If there is no such record, nothing happens. */
    async update(sql: Sql, record: Pick<R, K>, changes: Partial<R>): Promise<void> {
      const given = properties.filter(property => property in changes);
      const query = queries.getOrInsertComputed(`set ${given.join(' ')}`, () => {
        const set = given.map(property => `${nameOf[property]} = ?`).join(', ');
        return `update ${name} set ${set} where ${whereKey}`;
      });
      await sql.write(query, ...encode(given, changes), ...encode(key, record as Partial<R>));
    },
    /** If there is no such record, nothing happens. */
    async remove(sql: Sql, record: Pick<R, K>): Promise<void> {
      await sql.write(removing, ...encode(key, record as Partial<R>));
    },
  };
}

/** A column of text, or of a few fixed words. */
export function text<T extends string = string>(): Column<T> {
  return { type: 'text not null', encode: value => value, decode: value => String(value) as T };
}

/** A column of whole numbers up to 2^53. */
export function integer(): Column<number> {
  return { type: 'bigint not null', encode: value => value, decode: Number };
}

/** A column of true and false, as 1 and 0. */
export function boolean(): Column<boolean> {
  return { type: 'integer not null', encode: value => (value ? 1 : 0), decode: value => value === 1 };
}

/** A column of plain data, as JSON. */
export function json<T>(): Column<T> {
  return {
    type: 'text not null',
    encode: value => JSON.stringify(value),
    decode: value => JSON.parse(String(value)) as T,
  };
}

/** A column of topologies that SQL can compare: equal segments have the same text in any order. */
export function segments(): Column<Segments> {
  return { ...json<Segments>(), encode: segmentsText };
}

export function segmentsText(topology: Segments): string {
  return JSON.stringify(Object.fromEntries(Object.entries(topology).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** A column that holds undefined as null. */
export function optional<T>({ type, encode, decode }: Column<T>): Column<T | undefined> {
  return {
    type: type.replace(' not null', ''),
    encode: value => (value === undefined ? null : encode(value)),
    decode: value => (value === null ? undefined : decode(value)),
  };
}

/** Hides the column from the planner, so that no index of it is used: another condition leaves fewer rows. */
export function unindexed(column: string): string {
  return `(${column} || '')`;
}

function toSnakeCase(property: string): string {
  return property.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

/** The first columns of a resource that has data in the storage. */
export const storedColumns = {
  id: text(),
  /**
   * Differs from the nonce of every other record, also of one with the same id. The data made for this record
   * carry it. Empty in records older than nonces.
   */
  nonce: text(),
  cluster: text(),
  name: text(),
};
