import { readFileSync } from 'node:fs';
import type { ClientBase, Pool as ConnectionPool, PoolClient } from 'pg';
import { unavailableProblem } from '../../src/api/problem.ts';
import { pause } from '../../src/lib/concurrency.ts';
import type { Engine, Sql } from '../store.ts';
import { beginOn, failedProblem, readOn, reasonOf } from './postgres/transaction.ts';

/** Most connections of one gateway. */
const mostConnections = 10;
/** How long a connection may take to be made, or to become free, in milliseconds. */
const connectMs = 5_000;
/** How long a connection that nobody uses is kept, in milliseconds. */
const keepMs = 60_000;
/** How long a statement waits for what another transaction has locked, in milliseconds. */
const lockMs = 5_000;
/** A gateway that stands still within a transaction loses it, and with it its locks, after this, in milliseconds. */
const standStillMs = 10_000;
/** How often work that met another's is run at most, and the longest pause before it is run again, in milliseconds. */
const mostRuns = 10;
const mostPauseMs = 200;

/** Serialization failures and deadlocks: nothing has happened, and the same work may succeed. */
const transient: ReadonlySet<string> = new Set(['40001', '40P01']);

type Outcome<T> = { readonly value: T } | { readonly error: unknown; readonly again: boolean };

/**
 * Opens the PostgreSQL database whose connection URL is what the file holds, or throws with one line. A database that does
 * not sort text by its bytes is refused, and so is one that acknowledges what is not durable; a server that only reads is
 * not used.
 *
 * No time limit for statements is set at the server: it would end a commit that waits for a standby, and that is then
 * answered as if it were done. A connection over which no answer comes is given up here instead.
 */
export async function openPostgres(urlFile: string): Promise<Engine> {
  const pool = await openPool(urlFile);
  let ended: Promise<void> | undefined;

  async function connect(): Promise<PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      throw unavailableProblem(`the store cannot be reached now (${reasonOf(error)})`, error);
    }
  }

  async function runOnce<T>(work: (sql: Sql) => Promise<T>): Promise<Outcome<T>> {
    const client = await connect();
    const { sql, commit, rollback, failure } = beginOn(client);
    try {
      const value = await work(sql);
      await commit();
      client.release();
      return { value };
    } catch (error) {
      client.release(!(await rollback()));
      // Whatever the work made of it: a statement that failed has ended the transaction.
      return { error, again: transient.has(reasonOf(failure())) };
    }
  }

  return {
    reader: {
      async all(text, ...values) {
        const client = await connect();
        let isUsable = false;
        try {
          const { rows } = await readOn(client, text, values);
          isUsable = true;
          return rows;
        } catch (error) {
          throw failedProblem(error);
        } finally {
          client.release(!isUsable);
        }
      },
    },
    async transaction(work) {
      for (let run = 1; ; run++) {
        const outcome = await runOnce(work);
        if ('value' in outcome) return outcome.value;
        if (!outcome.again || run === mostRuns) throw outcome.error;
        await pause(Math.random() * Math.min(2 ** run, mostPauseMs));
      }
    },
    close: () => (ended ??= pool.end()),
  };
}

async function openPool(urlFile: string): Promise<ConnectionPool> {
  const { Pool } = await import('pg');
  const pool = new Pool({
    connectionString: readFileSync(urlFile, 'utf8').trim(),
    max: mostConnections,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: keepMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: standStillMs,
    keepAlive: true,
    fallback_application_name: 'fairlead-gateway',
    onConnect: requireUsable,
  });
  // One that is lost while it is used emits it on itself, and would end the process.
  pool.on('connect', client => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  try {
    await makeLocks(pool);
    return pool;
  } catch (error) {
    await pool.end();
    throw new Error(`cannot use the store of "${urlFile}": ${reasonOf(error)}`, { cause: error });
  }
}

const sorted = 'B _ a a-b a.b aB é';

async function requireUsable(client: ClientBase): Promise<void> {
  const words = sorted.split(' ').map(word => `('${word}')`);
  const { rows } = await client.query<Readonly<Record<string, string>>>(`
    select current_setting('transaction_read_only') as read_only,
      current_setting('synchronous_commit') as commits, current_setting('server_encoding') as encoding,
      string_agg(word, ' ' order by word) as sorted from (values ${words.join()}) as words (word)`);
  const [found] = rows;
  if (found?.['read_only'] !== 'off') throw new Error('the server only reads');
  if (found['encoding'] !== 'UTF8' || found['sorted'] !== sorted)
    throw new Error('the database needs the encoding UTF8 and the collation C');
  if (found['commits'] === 'off') throw new Error('synchronous_commit is off: what is committed may be lost');
}

/** The rows that transactions lock. Of several gateways that make the table at once all but one may fail. */
async function makeLocks(pool: ConnectionPool): Promise<void> {
  const making =
    'create table if not exists locks (kind text not null, bucket bigint not null, primary key (kind, bucket))';
  await pool.query(making).catch(() => pool.query(making));
}
