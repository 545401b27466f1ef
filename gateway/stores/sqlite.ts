import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Problem } from '../../src/api/problem.ts';
import type { Engine, Sql, SqlRow, SqlValue } from '../store.ts';

type Pending = { readonly run: () => Promise<() => void>; readonly reject: (error: unknown) => void };

/** How long a writer waits for another process, in milliseconds. */
const busyTimeoutMs = 5_000;
/** Most transactions that share one commit. */
const batchCap = 256;

/**
 * Opens the SQLite file, which is made when it is not there. Transactions that are asked for at the same time share one
 * commit, each in a savepoint of its own; every one resolves after that commit has reached the disk.
 */
export function openSqlite(path: string): Engine {
  const database = connect(path);
  const readonly = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  const statement = cacheStatements(database);
  const writer = createSql(database);
  const queue: Pending[] = [];
  let draining = false;

  async function drain(): Promise<void> {
    while (queue.length > 0) await commitBatch(queue.splice(0, batchCap));
    draining = false;
  }

  async function commitBatch(batch: readonly Pending[]): Promise<void> {
    const settled: (() => void)[] = [];
    try {
      statement('begin immediate').run();
      for (const pending of batch) settled.push(await pending.run());
      statement('commit').run();
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec('rollback');
      for (const { reject } of batch) reject(asUnavailable(error));
      return;
    }
    for (const settle of settled) settle();
  }

  async function runInSavepoint<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    statement('savepoint work').run();
    try {
      const value = await work(writer);
      statement('release work').run();
      return value;
    } catch (error) {
      if (!database.isTransaction) throw new Aborted(error);
      statement('rollback to work').run();
      statement('release work').run();
      throw error;
    }
  }
  return { reader: createSql(readonly) } as Engine;
}
