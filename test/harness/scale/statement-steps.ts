import { StatementSync } from 'node:sqlite';

/** A statement with SQLite's counters, which the types of Node.js do not declare yet. */
type StatementCounters = {
  stat(counter: 'vmStep'): number;
  resetStats(): void;
};

/** The steps of statements since counting began. */
export type Steps = {
  /** The total number of steps. */
  all: number;
  /** The largest number of steps within one time slice of the event loop. */
  maxInSlice: number;
  /** The steps by the statement's text. */
  readonly statements: Map<string, number>;
};

/**
 * Counts the steps of SQLite's virtual machine for the statements that `work` runs in this process. The same rows give
 * the same count, on every machine.
 */
export async function countSteps(work: () => Promise<unknown>): Promise<Steps> {
  const steps: Steps = { all: 0, maxInSlice: 0, statements: new Map() };
  let inSlice = 0;
  const { all, run } = StatementSync.prototype;
  const counting = <A extends unknown[], R>(query: (...args: A) => R) =>
    function counted(this: StatementSync & StatementCounters, ...args: A): R {
      this.resetStats();
      try {
        return query.apply(this, args);
      } finally {
        const taken = this.stat('vmStep');
        steps.all += taken;
        inSlice += taken;
        steps.maxInSlice = Math.max(steps.maxInSlice, inSlice);
        steps.statements.set(this.sourceSQL, (steps.statements.get(this.sourceSQL) ?? 0) + taken);
      }
    };
  let isOver = false;
  const beginSlice = (): void => {
    inSlice = 0;
    if (!isOver) setImmediate(beginSlice);
  };
  Object.assign(StatementSync.prototype, { all: counting(all), run: counting(run) });
  beginSlice();
  try {
    await work();
    return steps;
  } finally {
    isOver = true;
    Object.assign(StatementSync.prototype, { all, run });
  }
}
