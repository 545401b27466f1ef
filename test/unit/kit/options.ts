import type { VerifyOptions } from '../../../src/kit/run.ts';

/** Makes the options of a run of the kit from the vendor, the caller, and the requirements. */
export function runOptions(
  options: Pick<VerifyOptions, 'target' | 'credentials' | 'prefix' | 'timeoutMs' | 'only'>,
): VerifyOptions {
  return {
    isThorough: false,
    hasData: false,
    allowForeign: false,
    parameters: {},
    mutable: {},
    restart: undefined,
    seed: 1,
    signal: new AbortController().signal,
    ...options,
  };
}
