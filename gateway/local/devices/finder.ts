import { Problem } from '../../../src/api/problem.ts';
import type { VolumeRef, VolumeSource } from '../../backend.ts';
import { requireWithinLimit } from '../copies.ts';

export type Noun = 'volume' | 'snapshot';

/** The gateway's record that a pool stores with a volume or snapshot. The nonce is empty if there is none. */
export type PoolRecord = { readonly noun: Noun; readonly id: string; readonly nonce: string };

/** A volume or snapshot in a pool. */
export type PoolEntry = {
  readonly name: string;
  /** Undefined for a volume or snapshot of somebody else. */
  readonly record: PoolRecord | undefined;
  readonly sizeBytes: number;
};

/** Finds the volumes and snapshots of the gateway among all entries of a pool. */
export type Finder<Entry extends PoolEntry> = {
  /** Lists the ids of all volumes or snapshots. */
  ids(noun: Noun): readonly string[];
  /** Finds a volume or snapshot; undefined when it is missing, has another nonce, or is not of this gateway. */
  find(noun: Noun, ref: VolumeRef): Entry | undefined;
  /**
   * Finds a volume or snapshot that a request may have created earlier. ALREADY_EXISTS when the name is in use for
   * anything else.
   */
  findMade(noun: Noun, ref: Required<VolumeRef>): Entry | undefined;
  /** Finds a volume or snapshot; NOT_FOUND when it is missing. */
  requireEntry(noun: Noun, ref: VolumeRef): Entry;
  /** Finds the source of a copy. OUT_OF_RANGE when it is larger than the limit, because data would be lost. */
  requireSource(source: VolumeSource, limitBytes: number): Entry;
};

/** The pool as a noun, such as `the thin pool`, and the names of its entries. */
type Pool = { readonly poolNoun: string; nameOf(noun: Noun, id: string): string };

export function createFinder<Entry extends PoolEntry>(
  entries: readonly Entry[],
  { poolNoun, nameOf }: Pool,
): Finder<Entry> {
  const byName = Map.groupBy(entries, ({ name }) => name);

  /** Lists the entries with the name, and finds the one with the id and one of these nonces. */
  function look(noun: Noun, id: string, hasNonce: (nonce: string) => boolean) {
    const named = byName.get(nameOf(noun, id)) ?? [];
    const found = named.find(
      ({ record }) => record?.noun === noun && record.id === id && hasNonce(record.nonce),
    );
    return { named, found };
  }

  const finder: Finder<Entry> = {
    ids: noun => entries.flatMap(({ record }) => (record?.noun === noun ? [record.id] : [])),
    find: (noun, { id, nonce = '' }) =>
      look(noun, id, one => nonce === '' || one === '' || one === nonce).found,
    findMade(noun, { id, nonce }) {
      const { named, found } = look(noun, id, one => nonce === '' || one === nonce);
      if (found || named.length === 0) return found;
      throw new Problem(
        'ALREADY_EXISTS',
        `"${nameOf(noun, id)}" already exists in ${poolNoun} for another record`,
      );
    },
    requireEntry(noun, ref) {
      const found = finder.find(noun, ref);
      if (found) return found;
      throw new Problem('NOT_FOUND', `${noun} "${ref.id}" is missing in ${poolNoun}`);
    },
    requireSource(source, limitBytes) {
      const found = finder.requireEntry(
        source.kind,
        source.kind === 'volume' ? source.volume : source.snapshot,
      );
      requireWithinLimit('the source', found.sizeBytes, limitBytes);
      return found;
    },
  };
  return finder;
}
