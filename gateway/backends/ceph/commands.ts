import { Problem } from '../../../src/api/problem.ts';
import { environmentWith, exec } from '../../../src/lib/exec.ts';
import { commandProblem } from '../local/files.ts';

/** How the cluster is reached: the paths of its configuration and of a keyring, and a user in that. */
export type Login = { readonly conf: string; readonly user: string; readonly keyring: string };

/** `fine` are exit statuses, which are the system's numbers of errors, that the caller knows what to do with. */
export type CommandOptions = { readonly fine?: readonly number[]; readonly timeoutMs?: number };

/** Ceph's own commands, which find their key in the keyring: none is in an argument. */
export type Commands = ReturnType<typeof createCommands>;

/** The system's numbers of errors, with which `rbd` and `ceph` end. */
export const [missing, again, busy, exists, invalid, filled] = [2, 11, 16, 17, 22, 39] as const;
const noSpace: ReadonlySet<number | undefined> = new Set([28, 122]);
const usualTimeoutMs = 60_000;
/** What a command prints of a large pool or image, in characters. */
const mostOutput = 2 ** 26;

/** Makes what runs them as this user. */
export function createCommands({ conf, user, keyring }: Login) {
  const login = ['--conf', conf, '--id', user, '--keyring', keyring];
  // The times of snapshots are printed in the local time.
  const environment = environmentWith({ ...process.env, TZ: 'UTC' });

  /** The exit status, 0 or a fine one, and what was printed. UNAVAILABLE for any other end, or RESOURCE_EXHAUSTED. */
  async function run(
    program: 'ceph' | 'rbd',
    args: readonly string[],
    { fine = [], timeoutMs = usualTimeoutMs }: CommandOptions = {},
  ) {
    const result = await exec(program, [...login, ...args], { timeoutMs, mostOutput, environment });
    const { status, stdout } = result;
    if (status === 0 || (status !== undefined && fine.includes(status))) return { status, stdout };
    if (noSpace.has(status)) throw new Problem('RESOURCE_EXHAUSTED', 'the Ceph cluster is full');
    // A keyring that cannot be read is quoted, with the key.
    const stderr = result.stderr.replaceAll(/\bval=\S+/g, 'val=…');
    throw commandProblem(program, `run "${args.join(' ')}"`, { ...result, stderr });
  }

  /** What was printed as JSON; undefined for what is missing, and where nothing is printed. */
  async function ask<T>(program: 'ceph' | 'rbd', args: readonly string[]): Promise<T | undefined> {
    const { status, stdout } = await run(program, [...args, '--format', 'json'], { fine: [missing] });
    return status === 0 && stdout.trim() !== '' ? (JSON.parse(stdout) as T) : undefined;
  }

  return {
    /** What of the two does not run on this machine, one line each. */
    async lacks(): Promise<readonly string[]> {
      const options = { timeoutMs: usualTimeoutMs, environment };
      const results = ['ceph', 'rbd'].map(async program => {
        const { status, fault } = await exec(program, ['--version'], options);
        if (fault === 'ENOENT') return [`"${program}" is not installed (package ceph-common)`];
        return status === 0 ? [] : [`"${program}" does not run here`];
      });
      return (await Promise.all(results)).flat();
    },
    ceph: (args: readonly string[], options?: CommandOptions) => run('ceph', args, options),
    rbd: (args: readonly string[], options?: CommandOptions) => run('rbd', args, options),
    askCeph: <T>(...args: readonly string[]) => ask<T>('ceph', args),
    askRbd: <T>(...args: readonly string[]) => ask<T>('rbd', args),
  };
}
