import type { Feature } from '../../../api/storage.ts';

/** What a vendor's server must do, or should do, in one sentence. */
export type Requirement = {
  readonly level: 'MUST' | 'SHOULD';
  readonly text: string;
  /** It holds for vendors that have the feature alone. */
  readonly feature?: Feature | 'nodes';
};

/** A requirement that fails the run. */
export function must(text: string, feature?: Requirement['feature']): Requirement {
  return { level: 'MUST', text, ...(feature && { feature }) };
}

/** A requirement that only warns. */
export function should(text: string, feature?: Requirement['feature']): Requirement {
  return { ...must(text, feature), level: 'SHOULD' };
}
