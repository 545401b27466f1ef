import { readFileSync } from 'node:fs';
import type { Client, ClientBase, PoolClient } from 'pg';
import { unavailableProblem } from '../../src/api/problem.ts';
import { pause } from '../../src/lib/concurrency.ts';
import type { Engine, Sql, SqlRow, SqlValue } from '../store.ts';
import { joinHosts, requireEncrypted, urlsOf, withAuthority, type Hosts } from './postgres/hosts.ts';
import type { WholeLocks } from './postgres/locks.ts';
import { beginOn, codeOf, explainFailure, failedProblem, readOn } from './postgres/transaction.ts';

const maxConnections = 10;
/** The time limit for making a connection, or for waiting until one is free, in milliseconds. */
const connectMs = 5_000;
/** The lifetime of an unused connection, in milliseconds. */
const keepMs = 60_000;
/** The time limit of a statement that waits for another transaction's lock, in milliseconds. */
const lockMs = 5_000;
/**
 * The maximum pause of a gateway within a transaction, in milliseconds. Afterwards the server ends the transaction
 * and frees its locks.
 */
const pausedMs = 10_000;
/** The maximum runs of work that conflicts with other work, and the maximum pause between two runs in milliseconds. */
const maxRuns = 10;
const maxPauseMs = 200;

/** Serialization failures and deadlocks. Nothing has happened, and the same work may succeed. */
const transient: ReadonlySet<string> = new Set(['40001', '40P01']);

const poolOptions = {
  max: maxConnections,
  connectionTimeoutMillis: connectMs,
  idleTimeoutMillis: keepMs,
  lock_timeout: lockMs,
  idle_in_transaction_session_timeout: pausedMs,
  keepAlive: true,
  fallback_application_name: 'fairlead-gateway',
  onConnect: requireUsable,
};

type Outcome<T> = { readonly value: T } | { readonly error: unknown; readonly again: boolean };

/**
 * Opens the PostgreSQL database whose connection URL is in the file. Throws an error of one line. Rejects a database
 * that does not sort text by its bytes, or that acknowledges commits before they are durable. A read-only server is
 * not used: of several hosts in the URL the writable one is found, and found again after a change.
 *
 * The server gets no time limit for statements. Such a limit would end a commit that waits for a standby, and the
 * server would then report success. Instead, this gateway gives up a connection without an answer.
 */
export async function openPostgres(urlFile: string): Promise<Engine> {
  const hosts = await openHosts(urlFile);
  let ended: Promise<void> | undefined;

  async function connect(): Promise<PoolClient> {
    try {
      return await hosts.connect();
    } catch (error) {
      throw unavailableProblem(`the store cannot be reached at present: ${explainFailure(error)}`, error);
    }
  }

  async function runOnce<T>(work: (sql: Sql) => Promise<T>, whole: WholeLocks): Promise<Outcome<T>> {
    const client = await connect();
    const { sql, commit, rollback, failure } = beginOn(client, whole);
    try {
      const value = await work(sql);
      await commit();
      client.release();
      return { value };
    } catch (error) {
      client.release(!(await rollback()));
      // Retries even if the work caught the error: a failed statement has ended the transaction.
      return { error, again: transient.has(codeOf(failure())) };
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
      return { error: failedProblem(error), again: transient.has(codeOf(error)) };
    }
  }

  return {
    reader: { all: (text, ...values) => runAgain(() => readOnce(text, values)) },
    transaction(work) {
      const whole: WholeLocks = new Set();
      return runAgain(() => runOnce(work, whole));
    },
    close: () => (ended ??= hosts.end()),
  };
}

async function runAgain<T>(runOnce: () => Promise<Outcome<T>>): Promise<T> {
  for (let run = 1; ; run++) {
    const outcome = await runOnce();
    if ('value' in outcome) return outcome.value;
    if (!outcome.again || run === maxRuns) throw outcome.error;
    await pause(Math.random() * Math.min(2 ** run, maxPauseMs));
  }
}

async function openHosts(urlFile: string): Promise<Hosts> {
  const { Client, Pool } = await import('pg');
  const urls = readUrls(urlFile);
  const pools = urls.map(connectionString => {
    const pool = new Pool({ connectionString, ...poolOptions });
    // A connection that is lost during use emits the error itself, and an unhandled one would end the process.
    pool.on('connect', client => client.on('error', () => undefined));
    pool.on('error', () => undefined);
    return pool;
  });
  const hosts = joinHosts(pools);
  const clients: Client[] = [];
  try {
    for (const url of urls) {
      const client = new Client({ connectionString: url });
      clients.push(client);
      requireEncrypted(url, client);
    }
    await createLocks(hosts);
    return hosts;
  } catch (error) {
    await hosts.end();
    const failure = explainFailure(error, clients.map(nameOf).join(' or '));
    throw new Error(`cannot use the store of "${urlFile}": ${failure}`, { cause: error });
  }
}

function readUrls(urlFile: string): readonly string[] {
  const text = readFileSync(urlFile, 'utf8').trim();
  try {
    return urlsOf(withAuthority(text));
  } catch (error) {
    throw new Error(`cannot use the store of "${urlFile}": ${(error as Error).message}`, { cause: error });
  }
}

function nameOf({ database, host, port, user }: Client): string {
  return `the database "${database}" at "${host}:${port}", as "${user}",`;
}

const sorted = 'B _ a a-b a.b aB é';

async function requireUsable(client: ClientBase): Promise<void> {
  const words = sorted.split(' ').map(word => `('${word}')`);
  const { rows } = await client.query<Readonly<Record<string, string>>>(`
    select current_setting('transaction_read_only') as read_only,
      current_setting('synchronous_commit') as commits, current_setting('server_encoding') as encoding,
      string_agg(word, ' ' order by word) as sorted from (values ${words.join()}) as words (word)`);
  const [settings] = rows;
  if (settings?.['encoding'] !== 'UTF8' || settings['sorted'] !== sorted)
    throw new Error('the database needs the encoding UTF8 and the collation C; create it with these');
  if (settings['commits'] === 'off')
    throw new Error('synchronous_commit is off, so that commits may be lost; turn it on');
  // The last check, because the last of several hosts determines the reported error.
  if (settings['read_only'] !== 'off')
    throw new Error('the server is read-only; use the address of the primary');
}

/**
 * Creates the table of rows that transactions lock. If several gateways create it at once, all but one may fail, so a
 * failure is retried once.
 */
async function createLocks(hosts: Hosts): Promise<void> {
  const statement =
    'create table if not exists locks (kind text not null, bucket bigint not null, primary key (kind, bucket))';
  const client = await hosts.connect();
  try {
    await client.query(statement).catch(() => client.query(statement));
  } finally {
    client.release();
  }
}
