import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Problem } from '../../src/api/problem.ts';
import { identityOf } from '../../src/lib/directories.ts';
import type { Engine, Sql, SqlRow, SqlValue } from '../store.ts';

/** One transaction that waits: `run` gives what to call once it is committed, `reject` is for a failed commit. */
type Pending = {
  readonly run: (isAlone: boolean) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
};
type Connection = {
  readonly database: DatabaseSync;
  readonly prepare: (sql: string) => StatementSync;
  /** UNAVAILABLE once a file of the store is not the one that was opened: what is written is lost at the next start. */
  readonly requireInPlace: () => void;
};

/** How long a statement waits for another process, in milliseconds. */
const busyTimeoutMs = 5_000;
/** Most transactions that share one commit. */
const batchCap = 256;
/** No transaction joins a commit that has been open for longer, in milliseconds: nothing else runs meanwhile. */
const batchMs = 4;
/** For how long reads take it that the files of the store are in their place, in milliseconds; commits look each time. */
const momentMs = 10;
/** After so many reads timers and requests have their turn, however fast more reads are asked for. */
const readsPerTurn = 64;

/**
 * Opens the SQLite file, which is made when it is not there and is its owner's alone, or throws with one line.
 * Transactions that are asked for together share one commit, each in a savepoint of its own; all resolve
 * after that commit has reached the disk.
 */
export function openSqlite(path: string): Engine {
  const writer = connect(path, false);
  const reader = connect(path, true);
  const lookOnce = onceAMoment(reader.requireInPlace);
  let readCount = 0;
  const sql = createSql(writer);
  const queue: Pending[] = [];
  let draining: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // Before each commit: who asks again as soon as it is answered would let no timer and no request have its turn.
      await new Promise(setImmediate);
      await commitTogether(writer, queue);
    }
    draining = undefined;
  }

  return {
    reader: {
      async all(query, ...values) {
        if (++readCount % readsPerTurn === 0) await new Promise(setImmediate);
        lookOnce();
        return queryAll(reader, query, values);
      },
    },
    transaction: work =>
      new Promise((resolve, reject) => {
        const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
        // Whoever begins the commit, the work is part of the request that waits for its turn here.
        const working = turn.then(() => work(sql));
        const run = async (isAlone: boolean): Promise<() => void> => {
          const outcome = await runOne(writer, () => (begin(), working), isAlone);
          return 'error' in outcome ? () => reject(outcome.error) : () => resolve(outcome.value);
        };
        queue.push({ run, reject });
        draining ??= drain();
      }),
    async close() {
      await draining;
      for (const { database } of [reader, writer]) if (database.isOpen) database.close();
    },
  };
}

/** The check; what passed holds for a moment. */
function onceAMoment(check: () => void): () => void {
  let passedMs = -Infinity;
  return () => {
    const nowMs = performance.now();
    if (nowMs - passedMs < momentMs) return;
    check();
    passedMs = nowMs;
  };
}

function connect(path: string, readOnly: boolean): Connection {
  try {
    if (!readOnly) createPrivately(path);
    const database = new DatabaseSync(path, { readOnly, timeout: busyTimeoutMs });
    const files = [path, `${path}-wal`];
    if (!readOnly) {
      // The empty transaction makes the log, which stays for as long as the store is open.
      database.exec('pragma journal_mode = wal; pragma synchronous = full; begin immediate; commit');
      for (const file of [...files, `${path}-shm`]) chmodSync(file, 0o600);
    }
    // Opened here a second time, a file would lose SQLite's locks when it is closed.
    const opened = files.map(identityOf);
    const requireInPlace = (): void => {
      if (files.some((file, index) => identityOf(file) !== opened[index]))
        throw new Problem('UNAVAILABLE', 'the file of the store was removed, moved or replaced');
    };
    const statements = new Map<string, StatementSync>();
    const prepare = (sql: string): StatementSync => {
      const known = statements.get(sql);
      if (known) return known;
      const statement = database.prepare(sql);
      statements.set(sql, statement);
      return statement;
    };
    return { database, prepare, requireInPlace };
  } catch (error) {
    throw new Error(`cannot use the store "${path}": ${reasonOf(error)}`, { cause: error });
  }
}

/** SQLite gives what it makes beside the file the file's own mode. What is wrong with the path, it says itself. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {}
}

function queryAll({ prepare }: Connection, query: string, values: readonly SqlValue[]): readonly SqlRow[] {
  try {
    return prepare(query).all(...values) as readonly SqlRow[];
  } catch (error) {
    throw unavailableProblem(error);
  }
}

function createSql(connection: Connection): Sql {
  const { prepare } = connection;
  return {
    all: async (query, ...values) => queryAll(connection, query, values),
    run: async (sql, ...values) => orUnavailable(() => Number(prepare(sql).run(...values).changes)),
    write: async (sql, ...values) => void orUnavailable(() => prepare(sql).run(...values)),
    async require(otherwise, sql, ...values) {
      if (orUnavailable(() => prepare(sql).run(...values).changes) === 0) throw otherwise();
    },
    // Transactions that write run one after the other.
    async lock() {},
    // All gateways on a file are on its machine.
    now: async () => Date.now(),
  };
}

function orUnavailable<T>(query: () => T): T {
  try {
    return query();
  } catch (error) {
    throw unavailableProblem(error);
  }
}

async function commitTogether(
  { database, prepare, requireInPlace }: Connection,
  queue: Pending[],
): Promise<void> {
  const settle: (() => void)[] = [];
  const batch: Pending[] = [];
  const most = Math.min(queue.length, batchCap);
  const endMs = performance.now() + batchMs;
  try {
    requireInPlace();
    prepare('begin immediate').run();
    while (batch.length < most && (batch.length === 0 || performance.now() < endMs)) {
      const [pending] = queue.splice(0, 1);
      if (!pending) break;
      batch.push(pending);
      settle.push(await pending.run(most === 1));
    }
    if (database.isTransaction) prepare('commit').run();
    requireInPlace();
  } catch (error) {
    if (database.isOpen && database.isTransaction) database.exec('rollback');
    // None has begun when the transaction could not.
    if (batch.length === 0) batch.push(...queue.splice(0, most));
    for (const { reject } of batch) reject(unavailableProblem(error));
    return;
  }
  for (const done of settle) done();
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/**
 * A failure of the work is its own, and undoes only that, for which work that shares its transaction has a savepoint;
 * one that ended the whole transaction (disk full, I/O error) is thrown.
 */
async function runOne<T>(
  { database, prepare }: Connection,
  work: () => Promise<T>,
  isAlone: boolean,
): Promise<Outcome<T>> {
  if (!isAlone) prepare('savepoint work').run();
  try {
    const value = await work();
    if (!isAlone) prepare('release work').run();
    return { value };
  } catch (error) {
    if (!database.isTransaction) throw error;
    prepare(isAlone ? 'rollback' : 'rollback to work').run();
    if (!isAlone) prepare('release work').run();
    return { error };
  }
}

function unavailableProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('UNAVAILABLE', `the store cannot be used now (${reasonOf(error)})`, error);
}

/** SQLite's own short text for its result code, which holds no values. */
function reasonOf(error: unknown): string {
  const { errstr, message } = error as { errstr?: string; message?: string };
  return errstr ?? message ?? String(error);
}
