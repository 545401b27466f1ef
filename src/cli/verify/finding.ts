import type { Exchange } from './http/exchange.ts';
import type { RequirementId } from './requirements.ts';

/** Why a check ends without passing: what was expected and not found, or what it cannot do here. */
export type Finding = Error & {
  readonly kind: 'fault' | 'skip';
  /** The request and the answer that show it; without it the last of the check. */
  readonly exchange?: Exchange | undefined;
  /** The requirement that is broken, where that is another than the check's own. */
  readonly of?: RequirementId | undefined;
};

/** A fault of the vendor: `expected` says what should have been. */
export function fault(expected: string, more: Pick<Finding, 'exchange' | 'of'> = {}): Finding {
  return Object.assign(new Error(expected), { kind: 'fault' as const, ...more });
}

/** The check cannot be done here, and why. */
export function skip(because: string): Finding {
  return Object.assign(new Error(because), { kind: 'skip' as const });
}

/** Throws a fault unless the condition holds. */
export function expect(condition: unknown, expected: string, exchange?: Exchange): asserts condition {
  if (!condition) throw fault(expected, { exchange });
}

/** True for what `fault` and `skip` make. */
export function isFinding(error: unknown): error is Finding {
  return error instanceof Error && 'kind' in error;
}
