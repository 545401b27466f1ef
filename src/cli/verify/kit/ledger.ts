import type { OperationId } from '../../../api/operations.ts';
import type { AnyInput } from '../http/wire.ts';

/** What a run may have made at the vendor, so that all of it can be removed. */
export interface Ledger {
  /** Notes what a call makes, before it is sent: it may be done though nobody learns of it. */
  note(id: OperationId, input: AnyInput): void;
  /** What is noted, the last first, as the calls that remove it. */
  removals(): readonly Removal[];
  forget(removal: Removal): void;
  /** Leaves what could not be removed to the end of the run. */
  setAside(removal: Removal): void;
  /** Notes again all that was set aside. */
  recall(): void;
}

/** One call that removes something. */
export type Removal = { readonly operation: OperationId; readonly input: AnyInput };

/** Which call removes what another makes, and in which order: what is needed by others goes last. */
const undoing: Readonly<Partial<Record<OperationId, OperationId>>> = {
  attachVolume: 'detachVolume',
  createGroup: 'deleteGroup',
  createSnapshot: 'deleteSnapshot',
  createVolume: 'deleteVolume',
  putNode: 'deleteNode',
};
const order = Object.values(undoing);

/** Makes a ledger in which nothing is noted. */
export function createLedger(): Ledger {
  const noted = new Map<string, Removal>();
  const aside = new Map<string, Removal>();
  const keyOf = ({ operation, input }: Removal): string =>
    [operation, ...['volumeId', 'nodeId', 'snapshotId', 'groupId'].map(name => input[name] ?? '')].join(' ');
  return {
    note(id, input) {
      const operation = undoing[id];
      if (!operation) return;
      const { body: _, ...ids } = input;
      const removal = { operation, input: ids };
      noted.delete(keyOf(removal));
      noted.set(keyOf(removal), removal);
    },
    removals: () =>
      [...noted.values()]
        .toReversed()
        .sort((one, other) => order.indexOf(one.operation) - order.indexOf(other.operation)),
    forget: removal => void noted.delete(keyOf(removal)),
    setAside(removal) {
      noted.delete(keyOf(removal));
      aside.set(keyOf(removal), removal);
    },
    recall() {
      for (const [key, removal] of aside) noted.set(key, removal);
      aside.clear();
    },
  };
}
