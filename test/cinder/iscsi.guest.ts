import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { Attachment } from '../../src/api/attachment.ts';
import { adapter, startLvm } from './cinder.ts';
import { startVendor } from '../fakes/storages/reference.ts';
import { directoryOf } from '../harness/machine.ts';
import { openGateway } from '../vm/fleet/gateway.ts';
import { joinNetwork, openNode } from '../vm/fleet/peer.ts';
import { startDaemons, type Daemons } from '../vm/targets/scsi-target.ts';
import { iscsiRecords, readEach } from '../vm/guest/agent.ts';

const GiB = 2 ** 30;
const targets = '/sys/kernel/config/target/iscsi';

let daemons: Daemons | undefined;
before(async () => {
  joinNetwork();
  // Without udev nothing else loads the module.
  execFileSync('modprobe', ['sd_mod']);
  daemons = await startDaemons();
});
after(() => daemons?.stop());

const portals = () => readEach('/sys/class/iscsi_connection', 'persistent_address');
const disks = () => readdirSync('/sys/block').filter(name => name.startsWith('sd'));

/** Lists what an attachment has on the node and at the storage. */
const left = () => [...portals(), ...iscsiRecords(), ...disks(), ...globSync(`${targets}/iqn.*`)];

test("a node uses volumes of Cinder's driver for LVM over iSCSI", async t => {
  const { box, node, id } = await open(t);
  const bringUp = async (name: string, use: 'mount' | 'block' = 'mount') => {
    const attachment = (await box.attach(name, id, use)) as Attachment;
    await node.bringUp(name, attachment, use);
    return attachment;
  };
  const takeDown = async (name: string) => {
    await node.takeDown(name);
    await box.detach(name, id);
  };
  const fileOf = async (name: string) => join(await node.pathOf(name), 'file');

  await t.test('it is one device over two portals, and the target demands CHAP', async () => {
    await box.create('one', 'cinder', { requiredBytes: GiB });
    assert.ok((await bringUp('one')).sealed);
    assert.deepEqual(portals(), ['127.0.0.1', '127.0.0.2']);
    assert.equal(disks().length, 2);
    const [target = ''] = globSync(`${targets}/iqn.*/tpgt_1`);
    assert.equal(readFileSync(`${target}/attrib/authentication`, 'utf8').trim(), '1');
    const [account = ''] = globSync(`${target}/acls/*/auth/userid`);
    assert.notEqual(readFileSync(account, 'utf8').trim(), '');
    writeFileSync(await fileOf('one'), 'data', { flush: true });
  });

  await t.test('it grows while it is in use', async () => {
    await box.expand('one', 2 * GiB);
    await node.expand('one', 2 * GiB);
    const df = ['--output=size', '--block-size=1M', await node.pathOf('one')];
    assert.ok(Number(execFileSync('df', df).toString().split('\n')[1]) > 1_800);
  });

  await t.test('a snapshot of it is restored', async () => {
    await box.snapshot('snapshot', 'one');
    writeFileSync(await fileOf('one'), 'later', { flush: true });
    await takeDown('one');
    assert.deepEqual(left(), []);
    const source = { kind: 'snapshot', snapshotId: 'c.snapshot' };
    await box.create('restored', 'cinder', { requiredBytes: 2 * GiB, source });
    await bringUp('restored');
    assert.equal(readFileSync(await fileOf('restored'), 'utf8'), 'data');
    await takeDown('restored');
    await bringUp('one');
    assert.equal(readFileSync(await fileOf('one'), 'utf8'), 'later');
    await takeDown('one');
    assert.deepEqual(left(), []);
  });

  await t.test('a detach cuts a node off that still writes', async () => {
    await box.create('raw', 'cinder', { requiredBytes: GiB });
    await bringUp('raw', 'block');
    await node.writeRaw('raw');
    await node.giveUpSoon();
    await box.detach('raw', id);
    assert.deepEqual(await node.rawEnd('raw'), [7, null]);
    await node.takeDown('raw');
    assert.deepEqual(left(), []);
  });

  await t.test('nothing is left once everything is deleted', async () => {
    for (const name of ['raw', 'restored']) await box.delete(name);
    await box.deleteSnapshot('snapshot');
    await box.delete('one');
    const volumes = execFileSync('lvs', ['--noheadings', '--options=lv_name', 'cinder-volumes']);
    assert.equal(volumes.toString().trim(), 'cinder-volumes-pool');
  });
});

/** Starts the driver, `examples/cinder`, a gateway with it as a pool, and a node, all on this machine. */
async function open(t: TestContext) {
  const env = await startLvm(t, '10.0.2.2');
  const vendor = await startVendor(t, { command: adapter, env });
  const root = directoryOf(t);
  const token = join(root, 'token');
  writeFileSync(token, vendor.token);
  mkdirSync(join(root, 'gateway'));
  const pool = { backend: 'rest', url: vendor.url, token };
  const box = await openGateway(join(root, 'gateway'), { cinder: pool });
  const node = openNode('n1');
  const id = await node.start(await box.keys());
  await box.putNode(id, { name: 'n1', addresses: ['127.0.0.1'] });
  return { box, node, id };
}
