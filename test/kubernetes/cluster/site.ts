import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { capture } from './capture.ts';
import { openNamespace, type Namespace } from './namespace.ts';

/** A run's clusters and nodes: their directory, and the namespace of the control planes. */
export interface Site {
  readonly directory: string;
  /** The directory of the programs. */
  readonly bin: string;
  readonly namespace: Namespace;
  /** Runs a command in the site's namespace and returns its output. */
  run(argv: readonly string[]): Promise<string>;
  /** Opens a node's namespace, which ends with the site. */
  openNode(name: string): Promise<Namespace>;
  /** Copies the logs of all programs to a permanent directory and returns its path. */
  saveLogs(): string;
  /** Ends all programs and removes all files of the site. */
  end(): Promise<void>;
}

const project = resolve(import.meta.dirname, '..');

/** Opens a site with programs from a directory. */
export async function openSite(bin: string): Promise<Site> {
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-kubernetes-'));
  const keep = [directory, bin, project];
  const namespace = await openNamespace({ kind: 'site', directory }, keep).catch((error: unknown) => {
    rmSync(directory, { recursive: true });
    throw error;
  });
  const nodes: Namespace[] = [];
  return {
    directory,
    bin,
    namespace,
    run: argv => capture(namespace.enter(argv)),
    async openNode(name) {
      const home = join(directory, name);
      mkdirSync(home);
      const node = await openNamespace(
        { kind: 'node', directory: home, cgroup: `${basename(directory)}-${name}` },
        keep,
      );
      nodes.push(node);
      return node;
    },
    saveLogs: () => saveLogs(directory),
    async end() {
      await Promise.all(nodes.map(node => node.end()));
      await namespace.end();
    },
  };
}

function saveLogs(directory: string): string {
  const target = `${directory}-logs`;
  for (const name of ['.', ...readdirSync(directory)]) {
    const logs = join(directory, name, 'logs');
    if (existsSync(logs)) cpSync(logs, join(target, name), { recursive: true });
  }
  return target;
}
