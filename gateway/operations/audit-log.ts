import { clusterOf } from '../../src/api/ids.ts';
import { asProblem, type ProblemCode, problemTable, wordsForOperators } from '../../src/api/problem.ts';
import { type CurrentRequest, currentRequest } from '../scheduling/current-request.ts';
import type { Engine, Sql } from '../store.ts';
import { addChange, addRefusal, auditIdAt, type AuditRecord } from '../tables/audit-log.ts';
import { callerName } from '../callers/caller.ts';
import { createHourlyChanges } from '../scheduling/hourly-changes.ts';

/** An operation on a resource. A node's `id` starts with its cluster, as in `east/node-1`. */
export type LoggedOperation = Pick<AuditRecord, 'operation' | 'kind'> & {
  readonly id: string;
  /** The other thing that it is about, such as the node. */
  readonly about?: string | undefined;
};

/** The result of a transaction. Nothing is logged for one that changed nothing. */
export type Change<T> = { readonly result: T; readonly isChanged: boolean };

/** The maximum length of a failure's words. */
const maxDetailLength = 512;

/** Creates the log of callers, operations and outcomes. It records ids, and the words of a failure for operators. */
export function createAuditLog(
  { transaction }: Pick<Engine, 'transaction'>,
  changes = createHourlyChanges(),
) {
  const writer = crypto.randomUUID().slice(0, 8);
  let count = 0;
  /** The requests with a failure in the log. */
  const failed = new WeakSet<CurrentRequest>();

  function nextId(): string {
    count = (count + 1) % 2 ** 32;
    return `${auditIdAt(Date.now())}-${count.toString(16).padStart(8, '0')}-${writer}`;
  }

  /** Begins an operation of the present caller. Its end is logged under this caller, wherever that happens. */
  function begin({ operation, kind, id, about }: LoggedOperation) {
    const request = currentRequest();
    const actor = request ? callerName(request.caller) : 'gateway';
    const cluster = request?.caller.cluster?.name;
    if (cluster !== undefined && !unlimited.has(operation)) changes.requireFew(cluster);
    const write = (sql: Sql, code: AuditRecord['code'], detail?: string): Promise<void> => {
      if (request && code !== 'OK') failed.add(request);
      return (code === 'OK' ? addChange : addRefusal)(sql, {
        id: nextId(),
        actor,
        subject: request?.caller.subject,
        cluster: kind === 'pool' ? '' : (clusterOf(id) ?? id.split('/', 1)[0] ?? ''),
        operation,
        kind,
        resource: id,
        about,
        code,
        detail: detail?.slice(0, maxDetailLength),
        requestId: request?.requestId,
      });
    };
    /** A failure that the gateway tries again by itself would fill the log. */
    const isLogged = (code: AuditRecord['code']): boolean =>
      request !== undefined || code === 'OK' || problemTable[code].final;
    return {
      /** Logs the end. Call it in the transaction that records the outcome. */
      async ended(sql: Sql, code: AuditRecord['code'], detail?: string): Promise<void> {
        if (isLogged(code)) await write(sql, code, detail);
      },
      /** Counts a change. Call it after the transaction has resolved, because its work may run twice. */
      count(): void {
        if (cluster !== undefined) changes.add(cluster);
      },
      /**
       * Logs a failure before anything was recorded, and throws it. `isEntry` decides by its code; by default it is logged if it
       * is final, or if the caller's deadline is over.
       */
      async refused(failure: unknown, isEntry = isOutcome): Promise<never> {
        const problem = asProblem(failure);
        const { code } = problem;
        if (request && isEntry(code))
          await transaction(sql => write(sql, code, wordsForOperators(problem))).catch(() => undefined);
        throw failure;
      },
    };
  }

  return {
    begin,
    /** Logs the final refusal of the present request, unless one of its operations has logged a failure. */
    async noteRefusal(operation: LoggedOperation, failure: unknown): Promise<void> {
      const request = currentRequest();
      if (!request || failed.has(request)) return;
      await begin(operation)
        .refused(failure)
        .catch(() => undefined);
    },
    /** Runs a transaction that changes something without storage, and logs how it ended. */
    async change<T>(operation: LoggedOperation, work: (sql: Sql) => Promise<Change<T>>): Promise<T> {
      const { ended, count: countChange, refused } = begin(operation);
      const { result, isChanged } = await transaction(async sql => {
        const change = await work(sql);
        if (change.isChanged) await ended(sql, 'OK');
        return change;
      }).catch(refused);
      if (isChanged) countChange();
      return result;
    },
  };
}

function isOutcome(code: ProblemCode): boolean {
  return problemTable[code].final || code === 'DEADLINE_EXCEEDED';
}

/** Operations without an hourly limit: each takes back, or finishes, a change that was counted. */
const unlimited: ReadonlySet<string> = new Set(['delete', 'detach', 'revoke', 'settle']);
