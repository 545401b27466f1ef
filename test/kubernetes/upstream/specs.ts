import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../cluster/program.ts';
import type { InstalledCluster } from '../installation/installation.ts';
import { drivers, type Pool } from './drivers.ts';

/** The outcome of a spec. */
export type Spec = {
  readonly name: string;
  readonly state: string;
  /** The failure, or the suite's reason for a skip; empty for a spec that passed or that the filter left out. */
  readonly reason: string;
  readonly seconds: number;
};

/** A selection of specs and the number of processes that run them. */
export type Selection = {
  readonly pool: Pool;
  /** A filter of labels in ginkgo's syntax. */
  readonly labels: string;
  readonly processes: number;
  /** A regular expression for the names of specs. */
  readonly focus?: string | undefined;
  /** A regular expression for the names of specs that do not run. */
  readonly leftOut?: string;
  /** The path of a key for SSH to the nodes, without which the suite skips specs that stop kubelet. */
  readonly sshKey?: string;
};

/** Runs specs of Kubernetes' suite for external storage on a cluster, and yields each spec as it ends. */
export async function* runSpecs(served: InstalledCluster, selection: Selection): AsyncGenerator<Spec> {
  const { site } = served.cluster;
  const images = join(site.bin, 'upstream.tar');
  await Promise.all(served.nodes.map(node => node.containerd.importImages(images)));
  const directory = mkdtempSync(join(site.directory, 'upstream-'));
  const outcomes = join(directory, 'specs.jsonl');
  writeFileSync(outcomes, '');
  const driver = join(directory, 'driver.json');
  writeFileSync(driver, JSON.stringify(drivers[selection.pool]));
  const program = site.namespace.start(basename(directory), [
    'env',
    `PATH=${site.bin}:${process.env['PATH'] ?? ''}`,
    `HOME=${directory}`,
    `SPECS_FILE=${outcomes}`,
    `KUBE_SSH_KEY_PATH=${selection.sshKey ?? ''}`,
    'KUBE_SSH_USER=root',
    ...ginkgo(selection, site.bin),
    '--',
    ...suiteFlags(served),
    `-storage.testdriver=${driver}`,
  ]);
  yield* readWhile(program, outcomes);
}

const ginkgo = ({ labels, processes, focus = '', leftOut = '' }: Selection, bin: string) => [
  join(bin, 'ginkgo'),
  `--procs=${processes}`,
  `--label-filter=${labels}`,
  // The program contains other suites as well.
  `--focus=External Storage .*(${focus})`,
  ...(leftOut === '' ? [] : [`--skip=${leftOut}`]),
  '--timeout=3h',
  '--succinct',
  '--silence-skips',
  '--no-color',
  join(bin, 'external-storage.test'),
];

const suiteFlags = ({ cluster, nodes }: InstalledCluster) => [
  `-kubeconfig=${cluster.credentials.kubeconfigOf('admin')}`,
  '-provider=skeleton',
  `-num-nodes=${nodes.length}`,
  '-repo-root=/',
];

/** Yields the lines of a file as specs, until the program has ended. */
async function* readWhile(program: Program, file: string): AsyncGenerator<Spec> {
  let count = 0;
  let isOver = false;
  while (!isOver) {
    isOver = program.hasEnded();
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(count)) yield toSpec(line);
    count = lines.length;
    if (!isOver) await pause(500);
  }
}

function toSpec(line: string): Spec {
  const spec = JSON.parse(line) as Spec;
  return { ...spec, name: spec.name.replace(/^External Storage \[Driver: [^\]]*\] /, '') };
}
