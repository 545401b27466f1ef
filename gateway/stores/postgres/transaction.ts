import { predicateOf, reasonOf } from '../../../src/lib/words/failures.ts';
import type { PoolClient } from 'pg';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Sql, SqlValue } from '../../store.ts';
import { beginAgain, createLocks, type WholeLocks } from './locks.ts';
import { submitBatch, type StatementResult, type Statement } from './batch.ts';

/** The time limit for the server's answer, in milliseconds. Afterwards the connection is given up. */
const answerMs = 15_000;

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
 * statement that has one, which saves round trips. `whole` belongs to all runs of the same work.
 */
export function beginOn(client: PoolClient, whole: WholeLocks): Transaction {
  let queue: Statement[] = [];
  const locks = createLocks(whole);
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
    for (const lock of locks.take()) {
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
        if (locks.lock(kind, id)) return;
        failure ??= beginAgain;
        throw failedProblem(failure);
      },
      async share(kind, id, share) {
        locks.share(kind, id, share);
      },
      async now() {
        if (locks.arePending() || !aheadMs) aheadMs = ask(`select ${clock}`).then(toAheadMs);
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
  if (/connection timeout|timeout exceeded/.test(message))
    return `${name} does not answer; check the address, the server, and the firewalls on the way`;
  if (message.includes('terminated unexpectedly'))
    return `${name} closed the connection; check that PostgreSQL listens at this address, and its log`;
  if (code === 'ERR_INVALID_URL') return 'write the URL as postgres://USER:PASSWORD@HOST:PORT/DATABASE';
  const predicate = predicateOf(error, '"sslrootcert" in the URL');
  if (predicate !== undefined) return `${path === undefined ? name : `"${path}"`} ${predicate}`;
  return severity === undefined ? reasonOf(error) : `${name} refuses the work (${code}); look at its log`;
}
