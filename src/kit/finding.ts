import type { Exchange } from './http/exchange.ts';
import type { RequirementId } from './sections.ts';

/** The reason why a check does not pass: a fault of the vendor, an obstacle to the check, or an outcome that proves nothing. */
export type Finding = Error & {
  readonly kind: 'fault' | 'skip' | 'unproved';
  /** The request and the answer that show the fault; absent for the check's last exchange, null if no exchange shows it. */
  readonly exchange?: Exchange | null | undefined;
  /** The broken requirement; absent for the check's own. */
  readonly requirement?: RequirementId | undefined;
};

/** Makes a fault of the vendor; `expected` describes the right behaviour, and the wrong one after ", not". */
export function fault(expected: string, more: Pick<Finding, 'exchange' | 'requirement'> = {}): Finding {
  return Object.assign(new Error(expected), { kind: 'fault' as const, ...more });
}

/** Makes the finding that a check cannot be done here, for this reason. */
export function skip(reason: string): Finding {
  return Object.assign(new Error(reason), { kind: 'skip' as const });
}

/** Makes the finding that the check has run, and has proved neither that the requirement holds nor that it does not. */
export function unproved(reason: string): Finding {
  return Object.assign(new Error(`could not be proved: ${reason}`), { kind: 'unproved' as const });
}

/** Throws a fault unless the condition holds. */
export function expect(condition: unknown, expected: string, exchange?: Exchange | null): asserts condition {
  if (!condition) throw fault(expected, { exchange });
}

export function isFinding(error: unknown): error is Finding {
  return error instanceof Error && 'kind' in error;
}
