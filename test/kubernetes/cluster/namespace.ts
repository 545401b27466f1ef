import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { childrenOf, startProgram, type Program } from './program.ts';

/** Namespaces of mounts, network and processes. All that runs or is mounted in them goes when they end, or this process does. */
export interface Namespace {
  /** The process whose namespaces they are, as it is numbered outside. */
  readonly pid: number;
  readonly directory: string;
  /** The control group that a node's kubelet works below, by its name. */
  readonly cgroup: string;
  /** Where the programs' output is. */
  readonly logs: string;
  /** A command line that runs another in here. */
  enter(argv: readonly string[]): readonly string[];
  /** Starts a program in here that runs on; its output is added to its log. */
  start(name: string, argv: readonly string[]): Program;
  end(): Promise<void>;
}

/** What a namespace is for, its directory, and a node's control group. */
export type Purpose = {
  readonly kind: 'site' | 'node';
  readonly directory: string;
  readonly cgroup?: string;
};

const script = join(import.meta.dirname, 'namespace.sh');

/**
 * Makes a namespace in which the machine's files are visible, and nothing that others have mounted but what holds `keep`.
 * A site's removes its directory when it ends.
 */
export async function openNamespace(
  { kind, directory, cgroup = '' }: Purpose,
  keep: readonly string[],
): Promise<Namespace> {
  const logs = join(directory, 'logs');
  mkdirSync(logs, { recursive: true });
  const log = openSync(join(logs, 'namespace.log'), 'a');
  const flags = ['--mount', '--uts', '--net', '--pid', '--fork', '--mount-proc'];
  const args = [...flags, script, kind, directory, keep.join(':'), cgroup];
  const child = spawn('unshare', args, { stdio: ['pipe', 'pipe', log], cwd: '/' });
  closeSync(log);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('no pipes');
  const exited = once(child, 'exit');
  const first = await Promise.race([once(createInterface({ input: stdout }), 'line'), exited]);
  if (first[0] !== 'ready')
    throw new Error(`namespace of ${directory}: ${readFileSync(join(logs, 'namespace.log'), 'utf8')}`);
  const pid = childrenOf(child.pid ?? 0)[0] ?? 0;
  const prefix = ['nsenter', '--target', String(pid), '--mount', '--uts', '--net', '--pid', '--'];
  const enter = (argv: readonly string[]) => [...prefix, ...argv];
  const programs: Program[] = [];
  return {
    directory,
    cgroup,
    pid,
    logs,
    enter,
    start(program, argv) {
      const started = startProgram(join(logs, `${program}.log`), enter(argv));
      programs.push(started);
      return started;
    },
    async end() {
      stdin.end();
      await Promise.all([exited, ...programs.map(program => program.ended)]);
    },
  };
}
