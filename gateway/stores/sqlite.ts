import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Problem } from '../../src/api/problem.ts';
import { identityOf } from '../../src/lib/directories.ts';
import type { Engine, Sql, SqlRow, SqlValue } from '../store.ts';

/**
 * A waiting transaction. `run` returns the function to call after the commit; `reject` is called if the commit fails.
 */
type PendingTransaction = {
  readonly run: (isAlone: boolean) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
};
type Connection = {
  readonly database: DatabaseSync;
  readonly prepare: (sql: string) => StatementSync;
  /**
   * UNAVAILABLE once a file of the store has been replaced since it was opened: later writes would be lost at the
   * next start.
   */
  readonly requireInPlace: () => void;
};

/** The time limit of a statement that waits for another process, in milliseconds. */
const busyTimeoutMs = 5_000;
/** The maximum number of transactions that share a commit. */
const maxBatch = 256;
/**
 * The maximum age, in milliseconds, of a commit that transactions may still join, because nothing else runs
 * meanwhile.
 */
const batchMs = 4;
/**
 * The validity of a check that the store's files are in place, for reads, in milliseconds. Commits check every time.
 */
const checkMs = 10;
/** The maximum number of reads in a row, before timers and requests run. */
const readsPerSlice = 64;

/**
 * Opens the SQLite file, and creates it for its owner alone if it is missing. Throws an error of one line.
 * Transactions that wait at the same time share one commit, each in a savepoint of its own; all of them resolve after
 * the commit has reached the disk.
 */
export function openSqlite(path: string): Engine {
  const writer = connect(path, false);
  const reader = connect(path, true);
  const requireInPlaceSoon = throttle(reader.requireInPlace);
  let readCount = 0;
  const sql = createSql(writer);
  const queue: PendingTransaction[] = [];
  let draining: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // Yields before each commit, so that callers that write again at once do not starve timers and requests.
      await new Promise(setImmediate);
      await commitTogether(writer, queue);
    }
    draining = undefined;
  }

  return {
    reader: {
      async all(query, ...values) {
        if (++readCount % readsPerSlice === 0) await new Promise(setImmediate);
        requireInPlaceSoon();
        return queryAll(reader, query, values);
      },
    },
    transaction: work =>
      new Promise((resolve, reject) => {
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
        // The work runs in the context of its own request, even if another request begins the commit.
        const working = begun.then(() => work(sql));
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

/** Skips a check that has passed within the last `checkMs`. */
function throttle(check: () => void): () => void {
  let passedMs = -Infinity;
  return () => {
    const nowMs = performance.now();
    if (nowMs - passedMs < checkMs) return;
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
      // The empty transaction creates the log, which remains for as long as the store is open.
      database.exec('pragma journal_mode = wal; pragma synchronous = full; begin immediate; commit');
      for (const file of [...files, `${path}-shm`]) chmodSync(file, 0o600);
    }
    // Reads identities instead of opening the files: closing a second descriptor of a file would drop SQLite's locks.
    const opened = files.map(identityOf);
    const requireInPlace = (): void => {
      if (files.some((file, index) => identityOf(file) !== opened[index]))
        throw new Problem(
          'UNAVAILABLE',
          'the file of the store was removed, moved or replaced; restart the gateway',
        );
    };
    const statements = new Map<string, StatementSync>();
    const prepare = (sql: string): StatementSync => {
      const known = statements.get(sql);
      if (known) return known;
      // SQLite would plan a statement with a bare parameter as its limit anew at each run.
      const statement = database.prepare(sql.replaceAll('limit ?', 'limit ? + 0'));
      statements.set(sql, statement);
      return statement;
    };
    return { database, prepare, requireInPlace };
  } catch (error) {
    throw new Error(`cannot use the store "${path}": ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Creates the file for its owner alone. SQLite gives the files beside it the same mode, and reports every fault of
 * the path itself.
 */
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
  return {
    all: async (query, ...values) => queryAll(connection, query, values),
    run: async (sql, ...values) => change(connection, sql, values),
    write: async (sql, ...values) => void change(connection, sql, values),
    async require(otherwise, sql, ...values) {
      if (change(connection, sql, values) === 0) throw otherwise();
    },
    // SQLite runs writing transactions one after the other.
    async lock() {},
    async share() {},
    // All gateways on one file share this machine's clock.
    now: async () => Date.now(),
  };
}

/** Runs a statement and returns the number of rows that it changed. */
function change({ prepare }: Connection, sql: string, values: readonly SqlValue[]): number {
  try {
    return Number(prepare(sql).run(...values).changes);
  } catch (error) {
    throw unavailableProblem(error);
  }
}

async function commitTogether(
  { database, prepare, requireInPlace }: Connection,
  queue: PendingTransaction[],
): Promise<void> {
  const settle: (() => void)[] = [];
  const batch: PendingTransaction[] = [];
  const maxCount = Math.min(queue.length, maxBatch);
  const endMs = performance.now() + batchMs;
  try {
    requireInPlace();
    prepare('begin immediate').run();
    while (batch.length < maxCount && (batch.length === 0 || performance.now() < endMs)) {
      const [pending] = queue.splice(0, 1);
      if (!pending) break;
      batch.push(pending);
      settle.push(await pending.run(maxCount === 1));
    }
    if (database.isTransaction) prepare('commit').run();
    requireInPlace();
  } catch (error) {
    if (database.isOpen && database.isTransaction) database.exec('rollback');
    // The transaction could not begin, so all of its work fails.
    if (batch.length === 0) batch.push(...queue.splice(0, maxCount));
    for (const { reject } of batch) reject(unavailableProblem(error));
    return;
  }
  for (const done of settle) done();
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Runs one transaction's work. A failure of the work undoes this work alone; work that shares its transaction runs in
 * a savepoint for that. An error that ended the whole transaction (disk full, I/O error) is thrown.
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
  return new Problem('UNAVAILABLE', `the store cannot be used at present (${reasonOf(error)})`, error);
}

/** SQLite's short text for its result code, which contains no values. */
function reasonOf(error: unknown): string {
  const { errstr, message } = error as { errstr?: string; message?: string };
  return errstr ?? message ?? String(error);
}
