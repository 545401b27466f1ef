import type { Exception } from './exceptions.ts';
import type { Spec } from './specs.ts';

/** The outcome of a spec as a test: a reason to skip it, or a fault; neither if it passed. */
export type Verdict = { readonly skip?: string; readonly fault?: string };

/** Compares the specs of a run with the list of exceptions. */
export interface Judge {
  /** Returns undefined for a spec that the filter left out. */
  judge(spec: Spec): Verdict | undefined;
  /** Lists the faults of a complete run: exceptions without a spec, and specs that never ran. */
  faults(): readonly string[];
}

export function createJudge(exceptions: readonly Exception[]): Judge {
  const unused = new Set(exceptions);
  const judged = new Set<string>();
  const left = new Set<string>();
  return {
    judge(spec) {
      const matching = exceptions.filter(({ specs }) => specs.test(spec.name));
      for (const exception of matching) unused.delete(exception);
      if (spec.state === 'skipped' && spec.reason === '') {
        if (!matching.some(({ isLeftOut }) => isLeftOut)) left.add(spec.name);
        return undefined;
      }
      judged.add(spec.name);
      return verdictOn(spec, matching[0]);
    },
    faults: () => [
      ...[...unused].map(({ specs }) => `the list of exceptions has ${String(specs)}, which matches no spec`),
      ...[...left].filter(name => !judged.has(name)).map(name => `"${name}" did not run`),
    ],
  };
}

function verdictOn({ state, reason }: Spec, exception: Exception | undefined): Verdict {
  if (exception === undefined) return state === 'passed' ? {} : { fault: `${state}: ${reason}` };
  if (state === 'passed') return { fault: 'passed, so delete it from the list of exceptions' };
  if (state === 'skipped') return { skip: exception.reason };
  return { fault: `the suite should skip it, but it ${state}: ${reason}` };
}
