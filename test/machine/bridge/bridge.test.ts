import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { exec } from '../../../src/lib/exec.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { startVendor } from '../../fakes/storages/reference.ts';
import { startDev } from '../../harness/dev.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';
import { seed } from '../../harness/sample.ts';

const serve = join(import.meta.dirname, '../../fakes/storages/bridge.ts');
const command = [process.execPath, '--disable-warning=ExperimentalWarning', serve];

/** Starts a Fairlead whose two sockets are an existing driver, and returns the variables of a bridge over it. */
async function startDriver(t: TestContext, dir: string) {
  const driver = await startDev(t, { dir: join(dir, 'driver') });
  return { driver, env: { CSI_ENDPOINT: driver.controller, NODE_ID: driver.nodeId } };
}

test(
  'the kit finds nothing in a bridge over a driver, lost answers and restarts included',
  { skip: noRoot },
  async t => {
    const { env } = await startDriver(t, directoryOf(t));
    const report = await runKit(t, { command, seed, env });
    const faults = report.results.filter(({ failure }) => failure);
    assert.deepEqual(
      faults.map(({ id, failure }) => [id, failure?.expected]),
      [],
    );
    assert.deepEqual(report.left, []);
  },
);

test('a volume of a driver lives its whole life behind a gateway', { skip: noRoot }, async t => {
  const dir = directoryOf(t);
  const { driver, env } = await startDriver(t, dir);
  const { url, token } = await startVendor(t, { command, env });
  writeFileSync(join(dir, 'token'), token);
  const attachments = { protocols: ['csi'], drivers: ['csi.fairlead.dev'] };
  const pools = { old: { backend: 'rest', url, token: join(dir, 'token'), attachments } };
  writeFileSync(join(dir, 'pools.yaml'), stringify({ pools }));
  await startDev(t, {
    dir: join(dir, 'own'),
    config: join(dir, 'pools.yaml'),
    capacity: undefined,
    'csi-drivers': `csi.fairlead.dev=${new URL(driver.node).pathname}`,
  });
  const demo = [cli, 'demo', '--dir', join(dir, 'own')];
  const { status, stdout, stderr } = await exec(process.execPath, demo, { timeoutMs: 120_000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /nothing is left behind/);
  assert.deepEqual([mountsBelow(dir), loopDevicesOf(dir)], [[], []]);
});
