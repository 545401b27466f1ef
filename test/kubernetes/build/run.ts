import { spawnSync } from 'node:child_process';

/** A command's working directory, and additions to its environment. */
export type RunOptions = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> };

/** Runs a command and returns its output. Throws with its error output if it fails. */
export function run(command: string, args: readonly string[], { cwd, env }: RunOptions = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 1024 ** 3,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout.trim();
}
