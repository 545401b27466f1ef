import type { NamedOperation } from '../../src/api/operations.ts';
import type { Cluster, Tenant } from './cluster.ts';

/** The rights of a caller: a `controller` acts for a cluster, an `operator` for none, and a `reader` may only read. */
export type Role = 'controller' | 'reader' | 'operator';

/** The sender of requests, known by a verified token. */
export type Caller = {
  readonly role: Role;
  /** Undefined for operators and their readers. */
  readonly cluster?: Cluster | undefined;
  /** The caller's name for records: the `kid` of its key, or the subject of its token. */
  readonly subject?: string | undefined;
};

/** Lets operators call operations with the tag `admin`, and clusters all others. Readers of either may only read. */
export function mayCall({ role, cluster }: Caller, { tag, method }: Pick<NamedOperation, 'tag' | 'method'>) {
  return (tag === 'admin') === (cluster === undefined) && (role !== 'reader' || method === 'GET');
}

/** Finds the tenant whose time and share the caller uses. */
export function tenantOf({ cluster }: Caller): Tenant {
  return cluster ?? 'operator';
}

export function callerName({ cluster }: Caller): string {
  return cluster?.name ?? 'operator';
}
