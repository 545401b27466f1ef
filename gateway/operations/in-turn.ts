import { type Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Queues, Slot, Turn } from '../pools/queues.ts';

/** Whether anybody wants what has not begun, and the slot of what it is a part of. */
export type Asking = { readonly unwanted: () => Problem | undefined; readonly held?: Slot | undefined };

/** Throws where it is not the turn of what needs one; what has recorded nothing may be tried again. */
export type RequireTurn = (turn: Turn | undefined) => void;

const mustWait = unavailableProblem('it is not its turn yet');

/**
 * Begins what finds out on its way whether it needs a turn: it is undone and waits, and begins again in its turn. The slot
 * is the caller's to dispose of, unless it was held before. Rejects when nobody wants it, or too many wait.
 */
export async function beginInTurn<T>(
  queues: Queues,
  { unwanted, held }: Asking,
  begin: (requireTurn: RequireTurn) => Promise<T>,
): Promise<{ readonly begun: T; readonly slot: Slot | undefined }> {
  let slot = held;
  let waitsFor: Turn | undefined;
  const requireTurn: RequireTurn = turn => {
    waitsFor = slot ? undefined : turn;
    if (waitsFor) slot = queues.enter(waitsFor);
    if (waitsFor && !slot) throw mustWait;
  };
  for (;;) {
    try {
      const problem = unwanted();
      if (problem) throw problem;
      return { begun: await begin(requireTurn), slot };
    } catch (error) {
      const isWaiting = error === mustWait && waitsFor;
      if (!isWaiting && slot !== held) slot?.[Symbol.dispose]();
      if (!isWaiting) throw error;
      slot = await queues.wait(isWaiting, unwanted);
    }
  }
}
