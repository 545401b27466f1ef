import type { VerifyOptions } from '../../../../src/cli/verify/run.ts';

/** A run of the kit of which a test says only whom it asks, as whom, and what for. */
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
