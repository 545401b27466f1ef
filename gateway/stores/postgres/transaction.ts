import type { PoolClient } from 'pg';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Sql, SqlValue } from '../../store.ts';
import { submitBatch, type Answer, type Statement } from './batch.ts';

/** How long the server may take for what was sent, in milliseconds; then the connection is given up. */
const answerMs = 15_000;

/** How many rows of the locks there are for each kind: two resources that share one only wait for each other. */
const bucketCount = 1_024;

/** In which order kinds are locked that are asked for together; whatever else there is comes before them. */
const order = ['group', 'snapshot', 'volume', 'node', 'pool', 'cluster'];

const clock = '(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms';

/** Writes, where `for update` would do on PostgreSQL: other engines that speak its protocol hold on to nothing else. */
const locking = `insert into locks (kind, bucket) values (?, ?)
  on conflict (kind, bucket) do update set bucket = excluded.bucket returning ${clock}`;

/** Who waits for an answer; `otherwise` says what it is when no row was changed. */
type Waiting = Pick<Statement, 'resolve' | 'reject'> & { readonly otherwise?: () => Problem };

const nobody: Waiting = { resolve: () => undefined, reject: () => undefined };

/** What the server says of a division by zero, and what makes it say that when the statement changes no row. */
const noRow = '22012';
const requiring = (sql: string): string =>
  `with changed as (${sql} returning 1) select 1 from changed having 1 / count(*) < 0`;

/** What a transaction that was begun can do, and how it ends. */
type Transaction = {
  readonly sql: Sql;
  /** Resolves once what was changed is durable; rejects when it is not, or when nobody knows. */
  commit(): Promise<void>;
  /** Undoes what was changed. False when the connection is of no use any more. */
  rollback(): Promise<boolean>;
  /** Why the first statement that failed did; undefined while none has. */
  failure(): unknown;
};

/**
 * Begins a transaction. What need not be answered for the work to go on (the begin, locks, writes) is sent together with
 * what must, so that it costs no way to the server of its own.
 */
export function beginOn(client: PoolClient): Transaction {
  let queue: Statement[] = [];
  const held = new Set<string>();
  let wanted: (readonly [kind: string, bucket: number])[] = [];
  let [isBegun, isSending, isEnding] = [false, false, false];
  let failure: unknown;
  /** How far the server's clock is ahead of this process's. */
  let aheadMs: Promise<number> | undefined;

  /** Whoever does not wait for the answer learns from the commit that it failed. */
  function add(
    sql: string,
    values: readonly SqlValue[],
    { resolve, reject, otherwise }: Waiting = nobody,
  ): void {
    const fail = (error: unknown): void => {
      failure ??= otherwise && reasonOf(error) === noRow ? otherwise() : error;
      reject(failedProblem(failure));
    };
    queue.push({ sql, values, resolve, reject: fail });
  }

  /** After the locks that were asked for before it. */
  function queueUp(text: string, values: readonly SqlValue[], waiting?: Waiting): void {
    // What is sent after the end would be no part of the transaction.
    if (isEnding || failure !== undefined) throw failedProblem(failure ?? 'the transaction has ended');
    if (!isBegun) add('begin isolation level read committed, read write', []);
    isBegun = true;
    const locks = wanted.sort(([a, m], [b, n]) => order.indexOf(a) - order.indexOf(b) || m - n);
    wanted = [];
    for (const lock of locks) {
      const locked = Promise.withResolvers<Answer>();
      add(locking, lock, locked);
      aheadMs = locked.promise.then(toAheadMs);
      aheadMs.catch(() => undefined);
    }
    add(text, values, waiting);
  }

  function ask(text: string, values: readonly SqlValue[] = []): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    queueUp(text, values, { resolve, reject });
    sendSoon();
    return promise;
  }

  /** What is asked for together is sent together. */
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
        queueUp(requiring(text), values, { ...nobody, otherwise });
      },
      async lock(kind, id) {
        const bucket = bucketOf(id);
        if (!held.has(`${kind} ${bucket}`)) wanted.push([kind, bucket]);
        held.add(`${kind} ${bucket}`);
      },
      async now() {
        if (wanted.length > 0 || !aheadMs) aheadMs = ask(`select ${clock}`).then(toAheadMs);
        else sendSoon();
        return Math.round((await aheadMs) + performance.now());
      },
    },
    async commit() {
      if (!isBegun) return;
      const committing = ask('commit');
      isEnding = true;
      const { command } = await committing;
      // Where a statement before has failed, nothing is committed.
      if (command !== 'COMMIT') throw failedProblem(failure);
    },
    async rollback() {
      isEnding = true;
      queue = [];
      if (isBegun && isUsableAfter(failure)) {
        const { promise, resolve, reject } = Promise.withResolvers<Answer>();
        add('rollback', [], { resolve, reject });
        send();
        await promise.catch(() => undefined);
      }
      return isUsableAfter(failure);
    },
  };
}

/** What the statement gives outside of a transaction. */
export function readOn(client: PoolClient, sql: string, values: readonly SqlValue[]): Promise<Answer> {
  return new Promise((resolve, reject) => sendTo(client, [{ sql, values, resolve, reject }]));
}

/** The connection is given up when no answer comes. */
function sendTo(client: PoolClient, statements: readonly Statement[]): void {
  const timer = setTimeout(() => client.connection.stream.destroy(), answerMs);
  const ended = (): void => clearTimeout(timer);
  submitBatch(client, { statements, ended });
}

function toAheadMs({ rows: [row] }: Answer): number {
  return Number(row?.['now_ms']) - performance.now();
}

/** What the work itself required, a mistake in a statement, a rule of the tables, a lock that took too long, or another transaction in its way. */
function isUsableAfter(failure: unknown): boolean {
  return (
    failure === undefined ||
    failure instanceof Problem ||
    /^(2[23]...|42...|40001|40P01|55P03)$/.test(reasonOf(failure))
  );
}

/** UNAVAILABLE: what was asked is not done, or nobody knows; or what the work itself required. */
export function failedProblem(failure: unknown): Problem {
  if (failure instanceof Problem) return failure;
  return unavailableProblem(`the store cannot be used now (${reasonOf(failure)})`, failure);
}

/** A SQLSTATE, or the system's or the driver's short reason; the server's own text may hold values. */
export function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? message ?? error);
}

/** The same for the same id in all gateways (FNV-1a). */
function bucketOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193) >>> 0;
  return hash % bucketCount;
}
