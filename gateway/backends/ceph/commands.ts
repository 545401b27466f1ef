import { Problem } from '../../../src/api/problem.ts';
import { environmentWith, exec } from '../../../src/lib/exec.ts';
import { commandProblem } from '../../local/files.ts';

/** The access to a cluster: the paths of its configuration and of a keyring, and a user in the keyring. */
export type Login = { readonly conf: string; readonly user: string; readonly keyring: string };

/** `fine`: exit statuses (errno) that the caller handles; every other failure throws. */
export type CommandOptions = { readonly fine?: readonly number[]; readonly timeoutMs?: number };

/** Ceph's own commands. They read the key from the keyring, so no key is an argument. */
export type Commands = ReturnType<typeof createCommands>;

/** Exit statuses of `rbd` and `ceph`, which are errno values. */
export const [missing, again, busy, exists, invalid, filled] = [2, 11, 16, 17, 22, 39] as const;
const noSpace: ReadonlySet<number | undefined> = new Set([28, 122]);
const usualTimeoutMs = 60_000;
/** The maximum output for a large pool or image, in characters. */
const maxOutput = 2 ** 26;

export function createCommands({ conf, user, keyring }: Login) {
  const login = ['--conf', conf, '--id', user, '--keyring', keyring];
  // Ceph prints the times of snapshots in local time.
  const environment = environmentWith({ ...process.env, TZ: 'UTC' });

  /**
   * Runs a command. Returns its output and its exit status, 0 or one of `fine`. Any other status is UNAVAILABLE, or
   * RESOURCE_EXHAUSTED when the cluster is full.
   */
  async function run(
    program: 'ceph' | 'rbd',
    args: readonly string[],
    { fine = [], timeoutMs = usualTimeoutMs }: CommandOptions = {},
  ) {
    const result = await exec(program, [...login, ...args], { timeoutMs, maxOutput, environment });
    const { status, stdout } = result;
    if (status === 0 || (status !== undefined && fine.includes(status))) return { status, stdout };
    if (noSpace.has(status)) throw new Problem('RESOURCE_EXHAUSTED', 'the Ceph cluster is full');
    // Ceph's errors quote a malformed keyring, key included.
    const stderr = result.stderr.replaceAll(/\bval=\S+/g, 'val=…');
    throw commandProblem(program, `run "${args.join(' ')}"`, { ...result, stderr });
  }

  /** Runs a command and parses its output as JSON. Undefined for ENOENT and for empty output. */
  async function ask<T>(program: 'ceph' | 'rbd', args: readonly string[]): Promise<T | undefined> {
    const { status, stdout } = await run(program, [...args, '--format', 'json'], { fine: [missing] });
    return status === 0 && stdout.trim() !== '' ? (JSON.parse(stdout) as T) : undefined;
  }

  return {
    /** Reports which of the two programs do not run on this machine, one line each. */
    async lacks(): Promise<readonly string[]> {
      const options = { timeoutMs: usualTimeoutMs, environment };
      const results = ['ceph', 'rbd'].map(async program => {
        const { status, fault } = await exec(program, ['--version'], options);
        if (fault === 'ENOENT') return [`"${program}" is not installed; install the package ceph-common`];
        return status === 0 ? [] : [`"${program}" is installed but does not run`];
      });
      return (await Promise.all(results)).flat();
    },
    ceph: (args: readonly string[], options?: CommandOptions) => run('ceph', args, options),
    rbd: (args: readonly string[], options?: CommandOptions) => run('rbd', args, options),
    askCeph: <T>(...args: readonly string[]) => ask<T>('ceph', args),
    askRbd: <T>(...args: readonly string[]) => ask<T>('rbd', args),
  };
}
