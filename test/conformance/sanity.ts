import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Trio } from '../harness/trio.ts';

/** Makes the arguments of csi-sanity for a trio with one node. */
export function endpointsOf({ controller, nodes }: Trio): Pick<Sanity, 'controller' | 'node' | 'work'> {
  const [node] = nodes;
  assert.ok(node);
  return { controller, node: node.endpoint, work: node.directory };
}

type Sanity = {
  /** The directory of the tools that `buildTools` made. */
  readonly tools: string;
  /** The directory of the report. */
  readonly base: string;
  /** The parent directory of all staging and target paths. */
  readonly work: string;
  readonly accessType: string;
  /** The name of a spec that is not run. */
  readonly leaveAside?: string;
  /** A Go regular expression of the only specs to run. */
  readonly focus?: string;
  readonly node: string;
  readonly controller: string;
};

/** Runs csi-sanity and fails if it finds a failure. */
export function assertSane(t: Pick<TestContext, 'diagnostic'>, options: Sanity): void {
  const { tools, base, work, accessType, leaveAside, focus, node, controller } = options;
  const report = join(base, 'report.json');
  const args = [
    `--csi.endpoint=${node}`,
    `--csi.controllerendpoint=${controller}`,
    `--csi.stagingdir=${join(work, 'staging')}`,
    `--csi.mountdir=${join(work, 'target')}`,
    `--csi.testvolumeaccesstype=${accessType}`,
    `--ginkgo.json-report=${report}`,
    '--ginkgo.no-color',
    ...(leaveAside === undefined ? [] : [`--ginkgo.skip=${leaveAside}`]),
    ...(focus === undefined ? [] : [`--ginkgo.focus=${focus}`]),
  ];
  const settings = { encoding: 'utf8', cwd: base, maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr } = spawnSync(join(tools, 'csi-sanity'), args, settings);
  const { ran, skipped } = readReport(report);
  t.diagnostic(`${accessType}: ${ran} specs ran, ${skipped.length} skipped`);
  for (const line of skipped) t.diagnostic(`${accessType}: skipped: ${line}`);
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  assert.ok(ran > 40, `only ${ran} specs ran`);
}

type Spec = {
  readonly State: string;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly Failure?: { readonly Message: string };
};

function readReport(path: string): { readonly ran: number; readonly skipped: readonly string[] } {
  const [report] = JSON.parse(readFileSync(path, 'utf8')) as readonly [
    { readonly SpecReports: readonly Spec[] },
  ];
  const specs = report.SpecReports.filter(spec => spec.LeafNodeType === 'It');
  const skipped = specs.filter(({ State }) => State === 'skipped' || State === 'pending');
  const lines = skipped.map(({ ContainerHierarchyTexts, LeafNodeText, Failure, State }) => {
    const name = [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' › ');
    return `${name} (${Failure?.Message ?? State})`;
  });
  return { ran: specs.length - skipped.length, skipped: lines };
}
