import { pause } from '../../../lib/concurrency.ts';
import type { Entry } from '../../kind.ts';
import type { Io } from '../../run.ts';
import { changePrinter, type Change, type Output } from './output.ts';

type Watch = Output & {
  readonly first: readonly Entry[];
  readonly everyMs: number;
  readonly find: () => Promise<readonly Entry[]>;
};

/**
 * Prints each change on a line of its own, starting with the `first` entries as added, until the signal. When the gateway
 * does not answer, prints the error once and tries again.
 */
export async function watch(io: Io, { first, everyMs, find, ...output }: Watch): Promise<number> {
  const { signal, err } = io;
  const { isLog } = output.kind;
  const printChanges = changePrinter(io, output);
  let known = new Map<string, Entry>();
  let entries = first;
  let fault = '';
  for (;;) {
    const now = new Map(entries.map(entry => [entry.id, entry]));
    const changes = changesOf(known, now);
    // Entries of a log are never removed: an entry that is missing now is beyond the limit. The newest comes first.
    printChanges(isLog ? changes.filter(({ event }) => event === 'added').toReversed() : changes);
    known = now;
    try {
      await pause(everyMs, signal);
      entries = await find();
      fault = '';
    } catch (error) {
      if (signal?.aborted) return 0;
      const { message } = error as Error;
      if (message !== fault) err(`${message}; trying again\n`);
      fault = message;
    }
  }
}

function changesOf(known: ReadonlyMap<string, Entry>, now: ReadonlyMap<string, Entry>): readonly Change[] {
  const changes = [...now.values()].flatMap((entry): readonly Change[] => {
    const before = known.get(entry.id);
    if (!before) return [{ event: 'added', entry }];
    return JSON.stringify(before) === JSON.stringify(entry) ? [] : [{ event: 'changed', entry }];
  });
  const removed = [...known.values()].filter(({ id }) => !now.has(id));
  return [...changes, ...removed.map(entry => ({ event: 'removed' as const, entry }))];
}
