import { predicateOf, reasonOf } from '../../../src/lib/words/failures.ts';
import type { PoolClient } from 'pg';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Sql, SqlValue } from '../../store.ts';
import { submitBatch, type StatementResult, type Statement } from './batch.ts';

/** The time limit for the server's answer, in milliseconds. Afterwards the connection is given up. */
const answerMs = 15_000;

/** The number of lock rows for each kind. Two resources that share a row wait for each other, without further harm. */
const bucketCount = 1_024;

/** The order of locks that are taken together. Kinds outside this list come first. */
const order = ['group', 'snapshot', 'volume', 'node', 'pool', 'cluster'];

const clock = '(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms';

/**
 * Takes locks by writing the row. `for update` would do on PostgreSQL, but other engines with its protocol hold only
 * written rows.
 */
const locking = `insert into locks (kind, bucket) values (?, ?)
  on conflict (kind, bucket) do update set bucket = excluded.bucket returning ${clock}`;

/** The callbacks of a statement. `otherwise` makes the problem if the statement changed no row. */
type Callbacks = Pick<Statement, 'resolve' | 'reject'> & { readonly otherwise?: () => Problem };

const ignored: Callbacks = { resolve: () => undefined, reject: () => undefined };

/** The SQLSTATE of a division by zero, and a wrapper that causes it when the statement changes no row. */
const noRow = '22012';
const requiring = (sql: string): string =>
  `with changed as (${sql} returning 1) select 1 from changed having 1 / count(*) < 0`;

/** A transaction that has begun. */
type Transaction = {
  readonly sql: Sql;
  /** Resolves once the changes are durable. Rejects if they are not, or if the outcome is unknown. */
  commit(): Promise<void>;
  /** Undoes the changes. Returns false if the connection is no longer usable. */
  rollback(): Promise<boolean>;
  /** The error of the first statement that failed; undefined if none has. */
  failure(): unknown;
};

/**
 * Begins a transaction. Statements without an awaited answer (begin, locks, writes) are sent together with the next
 * statement that has one, which saves round trips.
 */
export function beginOn(client: PoolClient): Transaction {
  let queue: Statement[] = [];
  const locked = new Set<string>();
  let pendingLocks: (readonly [kind: string, bucket: number])[] = [];
  let [isBegun, isSending, isEnding] = [false, false, false];
  let failure: unknown;
  /** The lead of the server's clock over this process's `performance.now()`. */
  let aheadMs: Promise<number> | undefined;

  /** Adds a statement. A caller that does not wait for the answer gets its failure from the commit. */
  function add(
    sql: string,
    values: readonly SqlValue[],
    { resolve, reject, otherwise }: Callbacks = ignored,
  ): void {
    const fail = (error: unknown): void => {
      failure ??= otherwise && codeOf(error) === noRow ? otherwise() : error;
      reject(failedProblem(failure));
    };
    queue.push({ sql, values, resolve, reject: fail });
  }

  /** Adds a statement after the locks that were requested before it. */
  function queueUp(text: string, values: readonly SqlValue[], callbacks?: Callbacks): void {
    // A statement after the end would not belong to the transaction.
    if (isEnding || failure !== undefined) throw failedProblem(failure ?? 'the transaction has ended');
    if (!isBegun) add('begin isolation level read committed, read write', []);
    isBegun = true;
    const locks = pendingLocks.sort(([a, m], [b, n]) => order.indexOf(a) - order.indexOf(b) || m - n);
    pendingLocks = [];
    for (const lock of locks) {
      const answer = Promise.withResolvers<StatementResult>();
      add(locking, lock, answer);
      aheadMs = answer.promise.then(toAheadMs);
      aheadMs.catch(() => undefined);
    }
    add(text, values, callbacks);
  }

  function ask(text: string, values: readonly SqlValue[] = []): Promise<StatementResult> {
    const { promise, resolve, reject } = Promise.withResolvers<StatementResult>();
    queueUp(text, values, { resolve, reject });
    sendSoon();
    return promise;
  }

  /** Sends all statements of the same tick together. */
  function sendSoon(): void {
    if (!isSending) process.nextTick(send);
    isSending = true;
  }

  function send(): void {
    isSending = false;
    const statements = queue;
    queue = [];
    if (statements.length > 0) sendTo(client, statements);
  }

  return {
    failure: () => failure,
    sql: {
      all: async (text, ...values) => (await ask(text, values)).rows,
      run: async (text, ...values) => (await ask(text, values)).count,
      write: async (text, ...values) => queueUp(text, values),
      async require(otherwise, text, ...values) {
        queueUp(requiring(text), values, { ...ignored, otherwise });
      },
      async lock(kind, id) {
        const bucket = bucketOf(id);
        if (!locked.has(`${kind} ${bucket}`)) pendingLocks.push([kind, bucket]);
        locked.add(`${kind} ${bucket}`);
      },
      async now() {
        if (pendingLocks.length > 0 || !aheadMs) aheadMs = ask(`select ${clock}`).then(toAheadMs);
        else sendSoon();
        return Math.round((await aheadMs) + performance.now());
      },
    },
    async commit() {
      if (!isBegun) return;
      const committing = ask('commit');
      isEnding = true;
      const { command } = await committing;
      // After a failed statement the server rolls back and answers another command.
      if (command !== 'COMMIT') throw failedProblem(failure);
    },
    async rollback() {
      isEnding = true;
      queue = [];
      if (isBegun && isUsableAfter(failure)) {
        const { promise, resolve, reject } = Promise.withResolvers<StatementResult>();
        add('rollback', [], { resolve, reject });
        send();
        await promise.catch(() => undefined);
      }
      return isUsableAfter(failure);
    },
  };
}

/** Runs a statement outside of a transaction. */
export function readOn(
  client: PoolClient,
  sql: string,
  values: readonly SqlValue[],
): Promise<StatementResult> {
  return new Promise((resolve, reject) => sendTo(client, [{ sql, values, resolve, reject }]));
}

/** Sends statements, and gives up the connection if no answer comes in time. */
function sendTo(client: PoolClient, statements: readonly Statement[]): void {
  const timer = setTimeout(() => client.connection.stream.destroy(), answerMs);
  const ended = (): void => clearTimeout(timer);
  submitBatch(client, { statements, ended });
}

function toAheadMs({ rows: [row] }: StatementResult): number {
  return Number(row?.['now_ms']) - performance.now();
}

/**
 * True if the connection is usable after the failure: a Problem of the work, a faulty statement, a violated rule of
 * the tables, a lock timeout, or a conflict with another transaction.
 */
function isUsableAfter(failure: unknown): boolean {
  return (
    failure === undefined ||
    failure instanceof Problem ||
    /^(2[23]...|42...|40001|40P01|55P03)$/.test(codeOf(failure))
  );
}

/**
 * Converts a failure. A Problem of the work stays; anything else is UNAVAILABLE, because the outcome is that nothing
 * was done, or unknown.
 */
export function failedProblem(failure: unknown): Problem {
  if (failure instanceof Problem) return failure;
  return unavailableProblem(`the store cannot be used at present: ${explainFailure(failure)}`, failure);
}

/**
 * A SQLSTATE, or a short reason of the system or the driver. The server's own text is left out, because it may
 * contain values.
 */
export function codeOf(error: unknown): string {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? message ?? error);
}

/**
 * Describes the fault of the database of this name, and the remedy. The server's own text is left out, because it may
 * contain values.
 */
export function explainFailure(error: unknown, name = 'its database'): string {
  const {
    severity,
    code = '',
    message = '',
    path,
  } = Object(error) as Readonly<Record<string, string | undefined>>;
  if (message.includes('client password must be a string'))
    return `${name} requires a password; add it to the URL`;
  if (message.includes('does not support SSL')) return `${name} does not speak TLS; turn it on there`;
  if (code === 'ERR_INVALID_URL') return 'write the URL as postgres://USER:PASSWORD@HOST:PORT/DATABASE';
  const predicate = predicateOf(error, '"sslrootcert" in the URL');
  if (predicate !== undefined) return `${path === undefined ? name : `"${path}"`} ${predicate}`;
  return severity === undefined ? reasonOf(error) : `${name} refuses the work (${code}); look at its log`;
}

/** The lock row of an id, the same in all gateways (FNV-1a). */
function bucketOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193) >>> 0;
  return hash % bucketCount;
}
