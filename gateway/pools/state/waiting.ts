import {
  type Outage,
  Problem,
  problemTable,
  unavailableProblem,
  wordsForOperators,
} from '../../../src/api/problem.ts';

/** The facts about a pool's storage that its settings tell. */
export type PoolPlace = { readonly backend: string; readonly address?: string | undefined };

/** A configured pool that is not open: the answer to its callers, and the reason for operators. */
export type WaitingPool = PoolPlace &
  WaitingReason & {
    /** The first try to open it, in milliseconds since the epoch. */
    readonly sinceMs: number;
    /** The last try that failed. */
    readonly failedMs?: number;
  };

/** The reason why a pool is not open. */
export type WaitingReason = {
  readonly problem: Problem;
  readonly reason: string;
  /** How its storage fails; absent: the fault is in the settings, in a token, or on this machine. */
  readonly outage?: Outage;
  /** The time until which the first opening may still end, in milliseconds since the epoch; absent once it failed. */
  readonly firstUntilMs?: number;
};

export type WaitingPools = ReadonlyMap<string, WaitingPool>;

/** Maximum time that the first opening of a pool holds back the capabilities of other pools, in milliseconds. */
const firstOpeningMs = 30_000;

/** Makes the state of a pool that is being opened for the first time. */
export function opensFirst(name: string): WaitingReason {
  const problem = unavailableProblem(
    `pool "${name}" is not open yet: its storage has not answered since the gateway started; try again`,
  );
  const outage = 'silent';
  return { problem, reason: problem.detail, outage, firstUntilMs: Date.now() + firstOpeningMs };
}

/** Makes the state of a pool whose storage cannot be used now. */
export function unreached(name: string, problem: Problem): WaitingReason {
  const { outage } = problem;
  return { problem, reason: withoutPoolName(name, wordsForOperators(problem)), ...(outage && { outage }) };
}

/** Makes the state of a pool that has a fault. Callers do not get the reason: it may name volumes of other clusters. */
export function cannotOpen(name: string, error: unknown): WaitingReason {
  const problem = unavailableProblem(
    `pool "${name}" cannot be opened; ask an operator, who sees the reason with "fairlead get pools"`,
  );
  const reason = withoutPoolName(name, reasonOf(error));
  return { problem: Object.assign(problem, { reason: `pool "${name}": ${reason}` }), reason };
}

/** Returns true while the pool may still be opened for the first time, which decides about its features. */
export function mayOpenFirst({ firstUntilMs = 0 }: WaitingReason): boolean {
  return Date.now() < firstUntilMs;
}

/** Removes the pool's name in front of a reason that is shown beside the name. */
export function withoutPoolName(name: string, reason: string): string {
  const prefix = `pool "${name}": `;
  return reason.startsWith(prefix) ? reason.slice(prefix.length) : reason;
}

export function isUnreached(error: unknown): error is Problem {
  return error instanceof Problem && !problemTable[error.code].final;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
