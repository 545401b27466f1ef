/** Announces the next step of a build. */
export type NextStep = (what: string) => void;

/** Announces each step of a build on standard error at its start, because the build keeps its thread busy. */
export function announceSteps(total: number): NextStep {
  let number = 0;
  return what => void process.stderr.write(`${++number} of ${total}: ${what}\n`);
}
