import { readFileSync } from 'node:fs';
import type { ClientBase, PoolClient } from 'pg';
import { unavailableProblem } from '../../src/api/problem.ts';
import { pause } from '../../src/lib/concurrency.ts';
import type { Engine, Sql, SqlRow, SqlValue } from '../store.ts';
import { joinHosts, urlsOf, type Hosts } from './postgres/hosts.ts';
import { beginOn, failedProblem, readOn, reasonOf } from './postgres/transaction.ts';

/** Most connections of one gateway to one host. */
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

const poolOptions = {
  max: mostConnections,
  connectionTimeoutMillis: connectMs,
  idleTimeoutMillis: keepMs,
  lock_timeout: lockMs,
  idle_in_transaction_session_timeout: standStillMs,
  keepAlive: true,
  fallback_application_name: 'fairlead-gateway',
  onConnect: requireUsable,
};

type Outcome<T> = { readonly value: T } | { readonly error: unknown; readonly again: boolean };

/**
 * Opens the PostgreSQL database whose connection URL is what the file holds, or throws with one line. A database that does
 * not sort text by its bytes is refused, and so is one that acknowledges what is not durable; a server that only reads is
 * not used: of several hosts in the URL the one that writes is found, again whenever that changes.
 *
 * No time limit for statements is set at the server: it would end a commit that waits for a standby, and that is then
 * answered as if it were done. A connection over which no answer comes is given up here instead.
 */
export async function openPostgres(urlFile: string): Promise<Engine> {
  const hosts = await openHosts(urlFile);
  let ended: Promise<void> | undefined;

  async function connect(): Promise<PoolClient> {
    try {
      return await hosts.connect();
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

  async function readOnce(text: string, values: readonly SqlValue[]): Promise<Outcome<readonly SqlRow[]>> {
    const client = await connect();
    try {
      const { rows } = await readOn(client, text, values);
      client.release();
      return { value: rows };
    } catch (error) {
      client.release(true);
      return { error: failedProblem(error), again: transient.has(reasonOf(error)) };
    }
  }

  return {
    reader: { all: (text, ...values) => runAgain(() => readOnce(text, values)) },
    transaction: work => runAgain(() => runOnce(work)),
    close: () => (ended ??= hosts.end()),
  };
}

async function runAgain<T>(runOnce: () => Promise<Outcome<T>>): Promise<T> {
  for (let run = 1; ; run++) {
    const outcome = await runOnce();
    if ('value' in outcome) return outcome.value;
    if (!outcome.again || run === mostRuns) throw outcome.error;
    await pause(Math.random() * Math.min(2 ** run, mostPauseMs));
  }
}

async function openHosts(urlFile: string): Promise<Hosts> {
  const { Pool } = await import('pg');
  const pools = urlsOf(readFileSync(urlFile, 'utf8').trim()).map(connectionString => {
    const pool = new Pool({ connectionString, ...poolOptions });
    // One that is lost while it is used emits it on itself, and would end the process.
    pool.on('connect', client => client.on('error', () => undefined));
    pool.on('error', () => undefined);
    return pool;
  });
  const hosts = joinHosts(pools);
  try {
    await makeLocks(hosts);
    return hosts;
  } catch (error) {
    await hosts.end();
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
  if (found?.['encoding'] !== 'UTF8' || found['sorted'] !== sorted)
    throw new Error('the database needs the encoding UTF8 and the collation C');
  if (found['commits'] === 'off') throw new Error('synchronous_commit is off: what is committed may be lost');
  // Last: whichever of several hosts is asked last says what is wrong with all of them.
  if (found['read_only'] !== 'off') throw new Error('the server only reads');
}

/** The rows that transactions lock. Of several gateways that make the table at once all but one may fail. */
async function makeLocks(hosts: Hosts): Promise<void> {
  const making =
    'create table if not exists locks (kind text not null, bucket bigint not null, primary key (kind, bucket))';
  const client = await hosts.connect();
  try {
    await client.query(making).catch(() => client.query(making));
  } finally {
    client.release();
  }
}
