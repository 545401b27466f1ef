import type { Kit } from './fixtures/kit.ts';
import type { RequirementId } from './requirements.ts';

/**
 * The test of one requirement. Throws a `fault` when the requirement does not hold, and a `skip` when it cannot be tested.
 * Everything that a check leaves at the vendor is removed afterwards.
 */
export type Check = (kit: Kit) => Promise<void>;

/** Checks by the ids of their requirements. */
export type Checks = Readonly<Partial<Record<RequirementId, Check>>>;
