import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Attachment } from '../../../src/api/attachment.ts';
import { packages, script, whyNoCinder } from '../../cinder/cinder.ts';
import { startSandbox, whyNoSandbox, withOwnProcesses } from '../../sandbox.ts';
import { openFleet } from '../../vm/fleet/fleet.ts';
import { moveBetweenNodes, requireNothingLeft, until, type Stage } from '../../vm/fleet/scenarios.ts';
import { whyNoMachine } from '../../vm/packages.ts';
import { startBox } from '../box.ts';

const GiB = 2 ** 30;
const skip = whyNoSandbox() || whyNoCinder || (whyNoMachine() ?? false);

test("a node uses volumes of Cinder's driver for LVM over iSCSI, without Nova", { skip }, async t => {
  const stage = await open(t);
  const {
    box,
    nodes: [node],
    ids: [id],
  } = stage;
  const look = async (line: string): Promise<string> =>
    (await node.ask<string>('run', 'sh', ['-ec', line])).trim();

  await t.test('a volume has two portals, and accepts only its own node, with a password', async () => {
    await box.ask('create', 'raw', 'cinder', { requiredBytes: GiB });
    await node.ask('bringUp', 'raw', await box.ask<Attachment>('attach', 'raw', id, 'block'), 'block');
    const portals = await look('cat /sys/class/iscsi_connection/*/persistent_address');
    assert.deepEqual(portals.split('\n').toSorted(), ['10.0.2.15', '10.0.2.16']);
    const configured = await look(
      'cd /sys/kernel/config/target/iscsi; echo iqn.*; cd */tpgt_1/acls; echo *; cat */auth/userid */auth/password',
    );
    const [target_iqn, initiator, auth_username, password] = configured.split('\n');
    const unit = { driver_volume_type: 'iscsi', target_portal: '10.0.2.15:3260', target_iqn, target_lun: 0 };
    const identify = (name: string | undefined, auth_password: string | undefined) =>
      box.ask('identify', { ...unit, auth_username, auth_password }, name);
    await identify(initiator, password);
    await assert.rejects(identify(initiator, 'another-password'), { code: 'UNAVAILABLE' });
    await assert.rejects(identify('iqn.2026-01.dev.fairlead:another', password), { code: 'UNAVAILABLE' });
  });

  await t.test('a detach cuts off a node that still writes', async () => {
    const hashData =
      'dd if=$(echo /dev/cinder-volumes/volume-*) bs=1M count=8 iflag=direct status=none | sha256sum';
    const empty = await look(hashData);
    await node.ask('writeRaw', 'raw');
    await until(async () => (await look(hashData)) !== empty);
    await node.ask('waitForTargets', 4);
    await box.ask('detach', 'raw', id);
    const written = await look(hashData);
    assert.deepEqual(await node.ask('rawEnd', 'raw'), [7, null]);
    assert.equal(await look(hashData), written);
    await node.ask('takeDown', 'raw');
    await requireNothingLeft(stage);
  });

  await t.test(
    'a volume grows and a snapshot is taken while it is in use, and the snapshot is restored',
    () => moveBetweenNodes(stage, 'cinder', GiB),
  );

  await t.test('nothing is left once everything is deleted', async () => {
    for (const name of ['raw', 'moves-cinder-restored']) await box.ask('delete', name);
    await box.ask('deleteSnapshot', 'moves-cinder-snapshot');
    await box.ask('delete', 'moves-cinder');
    assert.equal(await look('lvs --noheadings --options=lv_name cinder-volumes'), 'cinder-volumes-pool');
  });
});

/** Starts Cinder's services, a gateway beside them, and a virtual machine that has the volumes and is the node. */
async function open(t: TestContext): Promise<Stage> {
  const { dir, inside, network } = await startSandbox(t, script, packages);
  const env = { PATH: `${join(dir, 'bin')}:${process.env['PATH']}` };
  const node = await openFleet(t, 0).startVolumes(network);
  const { box } = await startBox(
    t,
    { inside: [...inside, ...withOwnProcesses], env },
    'cinder/inside/lvm-box.ts',
  );
  const id = await node.ask<string>('start', await box.ask('keys'));
  await box.ask('putNode', id, { name: 'n1', addresses: ['10.0.2.15'] });
  return { box, nodes: [node, node], ids: [id, id] };
}
