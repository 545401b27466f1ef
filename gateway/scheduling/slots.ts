import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Queues, Slot, SlotRequest } from './queues.ts';

/** The check whether the caller still waits, and the parent operation's slot. */
export type SlotOptions = {
  readonly goneProblem: () => Problem | undefined;
  readonly held?: Slot | undefined;
};

/**
 * Throws when the operation needs a slot and has to wait for it. It is called inside the transaction of the
 * intent, which the error rolls back, because the work is tried again.
 */
export type SlotCheck = (request: SlotRequest | undefined) => void;

const mustWait = unavailableProblem('the operation has to wait for a slot');

/** Names the pool in the problem of a caller whose deadline passed while it waited for a slot there. */
function waitedProblem(gone: Problem | undefined, pool: string): Problem | undefined {
  if (gone?.code !== 'DEADLINE_EXCEEDED') return gone;
  return new Problem(
    'DEADLINE_EXCEEDED',
    `pool "${pool}" had no free slot before the caller's deadline; try again, or ask an operator, who sees the waiting operations with "fairlead top"`,
  );
}

/**
 * Begins work that finds out on its way whether it needs a slot. If none is free, the work is undone, waits
 * for a slot, and begins again. The caller disposes of the slot, unless it was `held`. Rejects when no caller
 * waits any more, or when too many operations wait.
 */
export async function beginWithSlot<T>(
  queues: Queues,
  { goneProblem, held }: SlotOptions,
  begin: (requireSlot: SlotCheck) => Promise<T>,
): Promise<{ readonly outcome: T; readonly slot: Slot | undefined }> {
  let slot = held;
  let missing: SlotRequest | undefined;
  const requireSlot: SlotCheck = request => {
    missing = slot ? undefined : request;
    if (missing) slot = queues.enter(missing);
    if (missing && !slot) throw mustWait;
  };
  for (;;) {
    try {
      const problem = goneProblem();
      if (problem) throw problem;
      return { outcome: await begin(requireSlot), slot };
    } catch (error) {
      const isWaiting = error === mustWait && missing;
      if (!isWaiting && slot !== held) slot?.[Symbol.dispose]();
      if (!isWaiting) throw error;
      slot = await queues.wait(isWaiting, () => waitedProblem(goneProblem(), isWaiting.pool));
    }
  }
}
