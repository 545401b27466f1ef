import type { Problem } from '../src/api/problem.ts';

/** A value that both engines can hold. */
export type SqlValue = string | number | null;

/** One row, keyed by column. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** Runs SQL with `?` placeholders inside a transaction or outside of one. */
export interface Sql {
  all(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs a statement and returns how many rows it changed. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>;
  /**
   * Runs a statement whose count nobody asks for, perhaps only together with the next one or with the commit. When it fails,
   * so does the transaction.
   */
  write(sql: string, ...values: readonly SqlValue[]): Promise<void>;
  /** Like `write`, of a statement that must change a row: when it changes none, the transaction fails with `otherwise`. */
  require(otherwise: () => Problem, sql: string, ...values: readonly SqlValue[]): Promise<void>;
  /**
   * Lets no other transaction that locks the same decide before this one has ended; what is read after it is what those
   * before have left. It comes first in each transaction that decides, in the order group, snapshot, volume, node, pool,
   * cluster; those that are asked for with no statement between them are put into this order here.
   */
  lock(kind: string, id: string): Promise<void>;
  /** What time it is, in milliseconds since the epoch, by the one clock of all gateways on this store. */
  now(): Promise<number>;
}

/** Reads what is committed, or inside a transaction what that transaction sees. */
export type Reader = Pick<Sql, 'all'>;

/** What a database must do: open, query, lock. The SQL itself is written once, for all engines. */
export interface Engine {
  /** Reads what is committed. */
  readonly reader: Reader;
  /**
   * Runs `work`, perhaps twice, in a transaction of its own that sees no other's unfinished changes; resolves once the
   * changes are durable. When `work` throws, none of its changes stay. A database that cannot be used is a `Problem` UNAVAILABLE.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
