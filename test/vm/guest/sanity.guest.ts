import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { directoryOf } from '../../harness/machine.ts';
import { startTrio } from '../../harness/trio.ts';
import { loadTarget } from '../targets/configfs.ts';
import { hasZfs, kernelExports, makeDevices, makePoolDirectory, targetsLeft } from '../targets/exported.ts';

/** The kernel passes it to the first program, because it is no kernel parameter. */
const tool = process.env['CSI_SANITY'] ?? '';

type MakePlace = (t: TestContext) => object;

const images: MakePlace = t => ({ dir: makePoolDirectory(t) });
const devices: MakePlace = t => makeDevices(t, 1_024);
const places: Readonly<Record<string, MakePlace>> = hasZfs
  ? { zfs: devices }
  : { image: images, lvm: devices };

for (const [backend, makePlace] of Object.entries(places))
  test(`csi-sanity finds no failure with volumes of ${backend} that are exported over nvme-tcp`, async t => {
    const base = directoryOf(t);
    const place = makePlace(t);
    loadTarget();
    const pool = { backend, ...place, capacity: '1Ti', export: kernelExports['nvme-tcp'] };
    // The programs end before the disk of their pool is removed.
    await t.test('no failure', inner => runSanity(inner, base, pool));
    assert.deepEqual(targetsLeft(), []);
  });

async function runSanity(
  t: TestContext,
  base: string,
  pool: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { controller, nodes } = await startTrio(t, { dir: base, pool, nodeNames: ['sanity-node'] });
  const [node] = nodes;
  assert.ok(node);
  mkdirSync(join(base, 'report'));
  const args = [
    `--csi.endpoint=${node.endpoint}`,
    `--csi.controllerendpoint=${controller}`,
    `--csi.stagingdir=${join(node.directory, 'staging')}`,
    `--csi.mountdir=${join(node.directory, 'target')}`,
    '--ginkgo.no-color',
  ];
  const { stdout } = await promisify(execFile)(tool, args, { cwd: base, maxBuffer: 2 ** 26 });
  const [, ran] = /Ran (\d+) of/.exec(stdout) ?? [];
  assert.ok(Number(ran) > 40, stdout);
  t.diagnostic(`${ran} specs`);
}
