import { spawnSync } from 'node:child_process';

/** Where a command runs, and what its environment has besides this process's. */
export type RunOptions = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> };

/** Runs one command and returns what it printed. Throws with what it said when it fails. */
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
