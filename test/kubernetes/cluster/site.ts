import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { capture } from './capture.ts';
import { openNamespace, type Namespace } from './namespace.ts';

/** The place of all clusters and nodes of one run: a directory, and the namespace of the control planes. */
export interface Site {
  readonly directory: string;
  /** The directory of the programs. */
  readonly bin: string;
  readonly namespace: Namespace;
  /** Runs a command in that namespace and returns what it prints. */
  run(argv: readonly string[]): Promise<string>;
  /** Makes a node's namespace, which ends with the site. */
  openNode(name: string): Promise<Namespace>;
  /** Copies all programs' output to a directory that stays, and returns its path. */
  saveLogs(): string;
  /** Ends all that runs and removes all that was made. */
  end(): Promise<void>;
}

const project = resolve(import.meta.dirname, '..');

/** Makes a site whose programs come from a directory. */
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
