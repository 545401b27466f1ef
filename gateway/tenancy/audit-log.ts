import { clusterOf } from '../../src/api/ids.ts';
import { asProblem, problemTable } from '../../src/api/problem.ts';
import { currentRequest } from '../operations/request.ts';
import type { Engine, Sql } from '../store.ts';
import { auditIdAt, auditTable, type AuditRecord } from '../tables/tenancy/audit-log.ts';
import { callerName } from './caller.ts';

/** What is done, and to what; a node's `id` has its cluster before it, as in `east/node-1`. */
export type Deed = Pick<AuditRecord, 'operation' | 'kind'> & {
  readonly id: string;
  /** What else it is about, such as the node. */
  readonly about?: string | undefined;
};

/** What a transaction came to; nothing is written of one that changed nothing. */
export type Change<T> = { readonly result: T; readonly isChanged: boolean };

/** Makes what records who did what, and how that ended. Nothing of what was asked for is recorded but ids. */
export function createAuditLog({ transaction }: Pick<Engine, 'transaction'>) {
  const writer = crypto.randomUUID().slice(0, 8);
  let count = 0;

  function nextId(): string {
    count = (count + 1) % 2 ** 32;
    return `${auditIdAt(Date.now())}-${count.toString(16).padStart(8, '0')}-${writer}`;
  }

  /** Begins something for whoever asks now; how it ends is recorded as theirs, wherever that is done. */
  function begin({ operation, kind, id, about }: Deed) {
    const request = currentRequest();
    const write = (sql: Sql, code: AuditRecord['code']): Promise<unknown> =>
      auditTable.add(sql, {
        id: nextId(),
        actor: request ? callerName(request.caller) : 'gateway',
        subject: request?.caller.subject,
        cluster: clusterOf(id) ?? id.split('/', 1)[0] ?? '',
        operation,
        kind,
        resource: id,
        about,
        code,
        requestId: request?.requestId,
      });
    /** What the gateway tries again by itself would fill the log. */
    const isWorth = (code: AuditRecord['code']): boolean =>
      request !== undefined || code === 'OK' || problemTable[code].final;
    return {
      /** Belongs into the transaction that records the outcome. */
      async ended(sql: Sql, code: AuditRecord['code']): Promise<void> {
        if (isWorth(code)) await write(sql, code);
      },
      /** Of what was refused for good before anything was recorded; throws it. */
      async refused(failure: unknown): Promise<never> {
        const { code } = asProblem(failure);
        if (request && problemTable[code].final)
          await transaction(sql => write(sql, code)).catch(() => undefined);
        throw failure;
      },
    };
  }

  return {
    begin,
    /** Runs a transaction that changes something without any storage, and records how that ended. */
    async change<T>(deed: Deed, work: (sql: Sql) => Promise<Change<T>>): Promise<T> {
      const { ended, refused } = begin(deed);
      const changed = await transaction(async sql => {
        const change = await work(sql);
        if (change.isChanged) await ended(sql, 'OK');
        return change;
      }).catch(refused);
      return changed.result;
    },
  };
}
