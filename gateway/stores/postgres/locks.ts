import { shareCount, type SharedKind } from '../../store.ts';

/** The number of lock rows for each kind. Two resources that have the same row wait for each other, without further harm. */
const bucketCount = 1_024;

/** The order of locks that are taken together. Kinds outside this list come first. */
const order = ['group', 'snapshot', 'volume', 'node', 'pool', 'cluster'];

const sharedKinds: ReadonlySet<string> = new Set<SharedKind>(['pool', 'cluster']);

/** The resources, as `kind id`, that a run of the work locked after it had shared them. The next runs lock them at once. */
export type WholeLocks = Set<string>;

/** The failure of a transaction that has to begin again. It has the code of a conflict. */
export const beginAgain: unknown = Object.assign(new Error('a shared resource must be locked'), {
  code: '40001',
});

type LockRow = readonly [kind: string, bucket: number];

/** Collects the lock rows of one transaction. Each share of a resource has a row. */
export function createLocks(whole: WholeLocks) {
  const added = new Set<string>();
  const shares = new Map<string, LockRow>();
  let pending: LockRow[] = [];

  function add(kind: string, id: string): LockRow {
    const row = [kind, bucketOf(id)] as const;
    if (!added.has(row.join(' '))) pending.push(row);
    added.add(row.join(' '));
    return row;
  }

  function addAll(kind: string, id: string): void {
    for (let share = 0; share < shareCount; share++) add(kind, `${id} ${share}`);
  }

  return {
    /**
     * Returns false if the transaction has to begin again: two that each hold a share would wait for each other
     * forever.
     */
    lock(kind: string, id: string): boolean {
      if (!sharedKinds.has(kind)) {
        add(kind, id);
        return true;
      }
      const key = `${kind} ${id}`;
      const share = shares.get(key);
      const mayLock = whole.has(key) || !share || pending.includes(share);
      whole.add(key);
      if (mayLock) addAll(kind, id);
      return mayLock;
    },
    share(kind: SharedKind, id: string, share: number): void {
      const key = `${kind} ${id}`;
      if (whole.has(key)) addAll(kind, id);
      else if (!shares.has(key)) shares.set(key, add(kind, `${id} ${share}`));
    },
    arePending: () => pending.length > 0,
    /** Returns the rows added since the last call, in the order in which all transactions lock them. */
    take(): readonly LockRow[] {
      const rows = pending.sort(([a, m], [b, n]) => order.indexOf(a) - order.indexOf(b) || m - n);
      pending = [];
      return rows;
    },
  };
}

/** The lock row of an id, the same in all gateways (FNV-1a). */
function bucketOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193) >>> 0;
  return hash % bucketCount;
}
