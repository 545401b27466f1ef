import { exec } from '../../src/lib/exec.ts';

const timeoutMs = 60_000;

/** A program, a call of it without effect, and its package. */
export type NeededProgram = {
  readonly name: string;
  readonly args: readonly string[];
  readonly package: string;
};

/** Reports that the gateway does not run as root, or the programs that are missing or do not run, one line each. */
export async function findProgramFaults(
  commands: string,
  programs: readonly NeededProgram[],
): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return [`the gateway does not run as root; only root can use ${commands}`];
  const faults = programs.map(async ({ name, args, package: from }) => {
    const { status, fault } = await exec(name, args, { timeoutMs });
    if (fault === 'ENOENT') return [`"${name}" is not installed; install the package ${from}`];
    return status === 0 ? [] : [`"${name}" is installed but does not run`];
  });
  return (await Promise.all(faults)).flat();
}
