import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Attachment } from '../../src/api/attachment.ts';
import { packages, project, script, whyNoCinder } from '../cinder/cinder.ts';
import { noRoot } from '../harness/machine.ts';
import { canMakeSandbox, startSandbox } from '../sandbox.ts';
import { openFleet } from '../vm/fleet/fleet.ts';
import { until, writtenOf } from '../vm/fleet/scenarios.ts';
import { whyNoMachine } from '../vm/packages.ts';
import { startBox } from './box.ts';

const GiB = 2 ** 30;
const needs = canMakeSandbox() ? false : 'needs namespaces of mounts, networks and processes';
const skip = noRoot || whyNoCinder || needs || (whyNoMachine() ?? false);

test("a node uses volumes of Cinder's driver for LVM over iSCSI, without Nova", { skip }, async t => {
  const { box, node, id } = await open(t);
  const unused = await node.ask('connectionsLeft');
  const bringUp = async (name: string, use: 'mount' | 'block' = 'mount') =>
    node.ask('bringUp', name, await box.ask<Attachment>('attach', name, id, use), use);
  const takeDown = async (name: string) => {
    await node.ask('takeDown', name);
    await box.ask('detach', name, id);
    assert.deepEqual(await node.ask('connectionsLeft'), unused);
    assert.equal(await look('ls -d $iscsi/iqn.* || true'), '');
  };
  const look = async (line: string, ...args: readonly string[]) =>
    (
      await node.ask<string>(
        'run',
        'sh',
        ['-ec', `iscsi=/sys/kernel/config/target/iscsi; ${line}`].concat('sh', args),
      )
    ).trim();

  await t.test('the volume is one device over two portals, and the target demands CHAP', async () => {
    await box.ask('create', 'one', 'cinder', { requiredBytes: GiB });
    await bringUp('one');
    const addresses = await look('cat /sys/class/iscsi_connection/*/persistent_address');
    assert.deepEqual(addresses.split('\n').toSorted(), ['10.0.2.15', '10.0.2.16']);
    assert.equal(await look('cat $iscsi/iqn.*/tpgt_1/attrib/authentication'), '1');
    assert.notEqual(await look('cat $iscsi/iqn.*/tpgt_1/acls/*/auth/userid'), 'NULL');
    const initiator = await look('basename $iscsi/iqn.*/tpgt_1/acls/*');
    const target = await look('basename $iscsi/iqn.*');
    for (const name of [initiator, 'iqn.2026-01.dev.fairlead:another'])
      await assert.rejects(look('iscsi-inq --initiator-name="$1" "iscsi://10.0.2.15/$2/0"', name, target));
    await node.ask('writeFile', 'one');
    await until(async () => (await writtenOf(node, 'one')) > 10);
  });

  await t.test('it grows and a snapshot of it is taken while it is in use', async () => {
    await box.ask('expand', 'one', 2 * GiB);
    await node.ask('expand', 'one', 2 * GiB);
    const path = await node.ask<string>('pathOf', 'one');
    assert.ok(Number((await look('df --output=size --block-size=1M "$1"', path)).split('\n')[1]) > 1_800);
    const before = await writtenOf(node, 'one');
    await box.ask('snapshot', 'snapshot', 'one');
    await until(async () => (await writtenOf(node, 'one')) > before + 10);
    await node.ask('stopWriting', 'one');
    const { written } = await node.ask<{ readonly written: number }>('written', 'one');
    await takeDown('one');
    const source = { kind: 'snapshot', snapshotId: 'c.snapshot' };
    await box.ask('create', 'restored', 'cinder', { requiredBytes: 2 * GiB, source });
    await bringUp('restored');
    const restored = await node.ask<number>('linesOf', 'restored');
    assert.ok(restored >= before && restored < written, `${before} <= ${restored} < ${written}`);
    await takeDown('restored');
    await bringUp('one');
    assert.equal(await node.ask('linesOf', 'one'), written);
    await takeDown('one');
  });

  await t.test('a detach cuts off a node that still writes', async () => {
    await box.ask('create', 'raw', 'cinder', { requiredBytes: GiB });
    await bringUp('raw', 'block');
    await node.ask('writeRaw', 'raw');
    await node.ask('waitForTargets', 4);
    await box.ask('detach', 'raw', id);
    assert.deepEqual(await node.ask('rawEnd', 'raw'), [7, null]);
    await takeDown('raw');
  });

  await t.test('nothing is left once everything is deleted', async () => {
    for (const name of ['raw', 'restored']) await box.ask('delete', name);
    await box.ask('deleteSnapshot', 'snapshot');
    await box.ask('delete', 'one');
    assert.equal(await look('lvs --noheadings --options=lv_name cinder-volumes'), 'cinder-volumes-pool');
  });
});

/** Starts Cinder's services, a gateway over examples/cinder beside them, and a virtual machine: the volumes' and a node. */
async function open(t: TestContext) {
  const { inside, network } = await startSandbox(t, script, packages);
  const env = { ...project, PROTOCOLS: 'iscsi' };
  const [{ box }, node] = await Promise.all([
    startBox(t, { inside, env }, '../../cinder/lvm-box.ts'),
    openFleet(t, 0).startVolumes(network),
  ]);
  const id = await node.ask<string>('start', await box.ask('keys'));
  await box.ask('putNode', id, { name: 'n1', addresses: ['10.0.2.15'] });
  return { box, node, id };
}
