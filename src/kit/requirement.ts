import type { Feature } from '../api/storage.ts';
import type { Kit } from './fixtures/kit.ts';
import type { RequirementId } from './sections.ts';

/**
 * The test of one requirement. Throws a `fault` when the requirement does not hold, and a `skip` when it cannot be tested.
 * Everything that a check leaves at the vendor is removed afterwards.
 */
export type Check = (kit: Kit, id: RequirementId) => Promise<void>;

/** A check's time limit, as a multiple of an operation's. A check that has no outcome by then proves nothing. */
export const checkFactor = 10;

/**
 * Starts to count the time of a check. The function says whether this share of it is over: a check then shortens its work, so
 * that it comes to an end at a slow vendor, too.
 */
export function countTime({ timeoutMs }: Pick<Kit, 'timeoutMs'>, share = 1 / 3): () => boolean {
  const endMs = performance.now() + checkFactor * timeoutMs * share;
  return () => performance.now() > endMs;
}

/** One sentence that a vendor's server must or should fulfil, with its check. */
export type Requirement = {
  readonly level: 'MUST' | 'SHOULD';
  readonly text: string;
  /** The feature without which the requirement does not apply. */
  readonly feature?: Feature | 'nodes' | undefined;
  readonly check: Check;
};

/** Requirements by their ids, in the order of the document. */
export type Chapter = Readonly<Record<RequirementId, Requirement>>;

/** Begins a requirement that fails the run when it does not hold. */
export function must(text: string, feature?: Requirement['feature']) {
  return { check: (check: Check): Requirement => ({ level: 'MUST', text, feature, check }) };
}

/** Begins a requirement that only gives a warning when it does not hold. */
export function should(text: string, feature?: Requirement['feature']) {
  return { check: (check: Check): Requirement => ({ level: 'SHOULD', text, feature, check }) };
}
