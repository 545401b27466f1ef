import type { Kit } from './kit/kit.ts';
import type { RequirementId } from './requirements.ts';

/** Proves a requirement, or throws what `fault` or `skip` make; what it leaves at the vendor is removed after it. */
export type Check = (kit: Kit) => Promise<void>;

/** Some checks by the requirements that they prove. */
export type Checks = Readonly<Partial<Record<RequirementId, Check>>>;
