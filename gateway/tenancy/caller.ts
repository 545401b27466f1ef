import type { NamedOperation } from '../../src/api/operations.ts';
import type { Cluster, Tenant } from './cluster.ts';

/** What a caller is for: `controller` has a cluster, `operator` none; a `reader` reads what one of them may. */
export type Role = 'controller' | 'reader' | 'operator';

/** Who sends requests, by a token that was verified. */
export type Caller = {
  readonly role: Role;
  /** The cluster that it acts for; absent: it is an operator, or a reader of what operators see. */
  readonly cluster?: Cluster | undefined;
  /** Who of those it is, for records: the `kid` of its key, or the subject of its token. */
  readonly subject?: string | undefined;
};

/** Operators have what is below `/v1/admin/`, clusters all else; a reader of either has what only reads. */
export function mayCall({ role, cluster }: Caller, { tag, method }: Pick<NamedOperation, 'tag' | 'method'>) {
  return (tag === 'admin') === (cluster === undefined) && (role !== 'reader' || method === 'GET');
}

/** Whose time and share a caller uses. */
export function tenantOf({ cluster }: Caller): Tenant {
  return cluster ?? 'operator';
}

/** The cluster's name, or `operator`, for logs. */
export function callerName({ cluster }: Caller): string {
  return cluster?.name ?? 'operator';
}
