import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { childrenOf, startProgram, type Program } from './program.ts';

/** Namespaces of mounts, network and processes. Their processes and mounts end with them, or with this process. */
export interface Namespace {
  /** The process id outside of the process that holds the namespaces. */
  readonly pid: number;
  readonly directory: string;
  /** The name of the control group that contains the node's kubelet. */
  readonly cgroup: string;
  /** The directory of the programs' logs. */
  readonly logs: string;
  /** Makes a command line that runs another one in these namespaces. */
  enter(argv: readonly string[]): readonly string[];
  /** Starts a lasting program in these namespaces; its output is appended to its log. */
  start(name: string, argv: readonly string[]): Program;
  end(): Promise<void>;
}

/** The kind of a namespace, its directory, and a node's control group. */
export type Purpose = {
  readonly kind: 'site' | 'node';
  readonly directory: string;
  readonly cgroup?: string;
};

const script = join(import.meta.dirname, 'namespace.sh');

/**
 * Opens namespaces that show the machine's files but no mounts of others, except mounts that contain `keep`. A site's
 * namespace removes its directory when it ends.
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
