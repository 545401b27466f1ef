import type { Problem } from '../src/api/problem.ts';

/** A value that both engines can hold. */
export type SqlValue = string | number | null;

/** One row, keyed by column. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** The kinds of resources that transactions can share. */
export type SharedKind = 'pool' | 'cluster';

/** The number of a resource's shares, and so of the transactions that share it at the same time. */
export const shareCount = 16;

/** Runs SQL with `?` placeholders, inside or outside a transaction. */
export interface Sql {
  all(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs a statement and returns the number of rows that it changed. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>;
  /**
   * Runs a statement whose count is not needed. It may be sent together with the next statement or the
   * commit. If it fails, so does the transaction.
   */
  write(sql: string, ...values: readonly SqlValue[]): Promise<void>;
  /**
   * Like `write`, for a statement that must change a row: if it changes none, the transaction fails with
   * `otherwise`.
   */
  require(otherwise: () => Problem, sql: string, ...values: readonly SqlValue[]): Promise<void>;
  /**
   * Locks the resource until the transaction ends. No other transaction with the same lock decides meanwhile,
   * and later reads see the changes of earlier holders. Every transaction that decides locks first, in the
   * order group, snapshot, volume, node, pool, cluster. Locks that are requested without a statement between
   * them are put into this order here.
   */
  lock(kind: string, id: string): Promise<void>;
  /**
   * Takes one of the `shareCount` shares of the resource until the transaction ends. Each share has one holder
   * at a time, and `lock` takes all of them. A later `lock` in the same transaction begins the transaction
   * again, with all shares from the start, unless no statement has run since.
   */
  share(kind: SharedKind, id: string, share: number): Promise<void>;
  /** Returns the time in milliseconds since the epoch, by the common clock of all gateways on this store. */
  now(): Promise<number>;
}

/** Reads committed data, or inside a transaction the data that the transaction sees. */
export type Reader = Pick<Sql, 'all'>;

/** The contract of a database: open, query, lock. The SQL itself is written once for all engines. */
export interface Engine {
  /** Reads committed data. */
  readonly reader: Reader;
  /**
   * Runs `work`, perhaps twice, in its own transaction, which does not see unfinished changes of other
   * transactions. Resolves once the changes are durable. If `work` throws, none of its changes stay. A
   * database that cannot be used is a `Problem` UNAVAILABLE.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
