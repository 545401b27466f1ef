import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startDev } from '../harness/dev.ts';
import {
  loopDevicesOf,
  makeTemporaryDirectory,
  mountsBelow,
  noRoot,
  removeTemporaryDirectory,
} from '../harness/machine.ts';

const here = dirname(fileURLToPath(import.meta.url));
const dir = makeTemporaryDirectory();
after(() => removeTemporaryDirectory(dir));

const skip = noRoot || (spawnSync('go', ['version']).error ? 'Go is not installed' : false);

test('csi-sanity builds', { skip }, () => {
  const build = spawnSync(
    'go',
    ['build', '-o', sanityBinary(), 'github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity'],
    {
      cwd: here,
      encoding: 'utf8',
    },
  );
  assert.equal(build.status, 0, build.stderr);
});

for (const accessType of ['mount', 'block']) {
  test(`csi-sanity finds no failure with ${accessType} volumes`, { skip }, t => runSanity(accessType, t));
}

async function runSanity(accessType: string, t: TestContext): Promise<void> {
  const base = join(dir, accessType);
  mkdirSync(join(base, 'work'), { recursive: true });
  const dev = await startDev({
    dir: join(base, 'dev'),
    'node-id': 'sanity-node',
    'kubelet-dir': join(base, 'work'),
  });
  try {
    const { status, output } = sanity(base, dev, accessType);
    const specs = readReport(join(base, 'report.json'));
    t.diagnostic(`${accessType}: ${specs.ran.length} specs ran, ${specs.skipped.length} skipped`);
    for (const line of specs.skipped) t.diagnostic(`${accessType}: skipped: ${line}`);
    assert.equal(status, 0, output);
    assert.ok(specs.ran.length > 40, `only ${specs.ran.length} specs ran`);
  } finally {
    await dev.end();
  }
  assert.deepEqual(mountsBelow(base), []);
  assert.deepEqual(loopDevicesOf(base), []);
}

type Endpoints = { readonly node: string; readonly controller: string };

function sanity(
  base: string,
  { node, controller }: Endpoints,
  accessType: string,
): { status: number | null; output: string } {
  const args = [
    `--csi.endpoint=${node}`,
    `--csi.controllerendpoint=${controller}`,
    `--csi.stagingdir=${join(base, 'work', 'staging')}`,
    `--csi.mountdir=${join(base, 'work', 'target')}`,
    `--csi.testvolumeaccesstype=${accessType}`,
    `--ginkgo.json-report=${join(base, 'report.json')}`,
    '--ginkgo.no-color',
  ];
  const { status, stdout, stderr } = spawnSync(sanityBinary(), args, {
    encoding: 'utf8',
    cwd: base,
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, output: `${stdout}\n${stderr}` };
}

type Spec = {
  readonly State: string;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly Failure?: { readonly Message: string };
};

function readReport(path: string): { readonly ran: readonly string[]; readonly skipped: readonly string[] } {
  const [report] = JSON.parse(readFileSync(path, 'utf8')) as readonly [
    { readonly SpecReports: readonly Spec[] },
  ];
  const specs = report.SpecReports.filter(spec => spec.LeafNodeType === 'It');
  const nameOf = (spec: Spec): string =>
    [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' › ');
  const isSkipped = (spec: Spec): boolean => spec.State === 'skipped' || spec.State === 'pending';
  return {
    ran: specs.filter(spec => !isSkipped(spec)).map(nameOf),
    skipped: specs.filter(isSkipped).map(spec => `${nameOf(spec)} (${spec.Failure?.Message ?? spec.State})`),
  };
}

function sanityBinary(): string {
  return join(dir, 'csi-sanity');
}
