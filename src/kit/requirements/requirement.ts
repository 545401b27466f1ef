import type { Feature } from '../../api/storage.ts';

/** One sentence that a vendor's server must or should fulfil. */
export type Requirement = {
  readonly level: 'MUST' | 'SHOULD';
  readonly text: string;
  /** The feature without which the requirement does not apply. */
  readonly feature?: Feature | 'nodes';
};

/** Makes a requirement that fails the run when it does not hold. */
export function must(text: string, feature?: Requirement['feature']): Requirement {
  return { level: 'MUST', text, ...(feature && { feature }) };
}

/** Makes a requirement that only gives a warning when it does not hold. */
export function should(text: string, feature?: Requirement['feature']): Requirement {
  return { ...must(text, feature), level: 'SHOULD' };
}
