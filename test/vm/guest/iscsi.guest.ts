import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { after, before, test, type TestContext } from 'node:test';
import type { Problem } from '../../../src/api/problem.ts';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { surveyProtocols } from '../../../node-agent/connectors/index.ts';
import { iscsi } from '../../../node-agent/connectors/iscsi.ts';
import {
  cutConnections,
  filesWith,
  host,
  iscsiRecords,
  MiB,
  readEach,
  startGuestNode,
  untilSeen,
  type GuestNode,
} from './agent.ts';
import { writer, type VolumeFields } from '../../harness/node/served.ts';
import { acceptOnly, demandChap, type ChapAccount } from '../targets/chap-target.ts';
import {
  openStores,
  resizeStore,
  startDaemons,
  startIscsiTarget,
  type Daemons,
  type Store,
} from '../targets/scsi-target.ts';

const name = 'iqn.2003-01.org.example:fairlead';
const [first, second] = ['127.0.0.1:3260', '127.0.0.2:3260'] as const;
const both: readonly string[] = [first, second];

let daemons: Daemons | undefined;
before(async () => (daemons = await startDaemons()));
after(() => daemons?.stop());

function attachmentTo({ wwid, serial }: Store, portals = both, lun = 0): AttachmentOf<'iscsi'> {
  const common = { attachmentId: `attachment-${serial}`, readonly: false, mayFormat: true };
  return { protocol: 'iscsi', portals, target: name, lun, wwid, serial, ...common, sizeBytes: 64 * MiB };
}

/** Opens a target with one unit. */
function open(t: TestContext, sizeBytes = 64 * MiB) {
  const makeStore = openStores(t);
  const store = makeStore('a1', sizeBytes);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  return { makeStore, store, target, attachment: attachmentTo(store) };
}

/** Lists the portals of the sessions. */
const sessions = () => readEach('/sys/class/iscsi_connection', 'persistent_address');
const areUp = () => readEach('/sys/class/iscsi_session', 'state').every(state => state === 'LOGGED_IN');
const disks = () => readdirSync('/sys/block').filter(entry => /^(sd|dm-)/.test(entry));

const left = () => [...sessions(), ...disks(), ...iscsiRecords()];

/** Writes to a volume while its second portal is lost, and reads it once both paths are up again. */
async function loseAPath(
  target: ReturnType<typeof open>['target'],
  node: GuestNode,
  fields: VolumeFields,
): Promise<void> {
  target.stop(second);
  cutConnections('dst', '127.0.0.2', 'dport', '=', ':3260');
  node.write(fields);
  target.start(second);
  await untilSeen(areUp);
  await node.bringUp(fields);
  assert.equal(node.read(fields), 'data');
}

test('a node with these services reports that it reaches volumes over iscsi', async () => {
  const all = await surveyProtocols(host);
  assert.equal(all.find(({ protocol }) => protocol === 'iscsi')?.reason, undefined);
});

test('a volume over two portals is one device, which is written, grows, and leaves no session', async t => {
  const { store, attachment } = open(t);
  const node = await startGuestNode(t);
  await node.requireLife(node.volumeAt({ name: 'one', attachment }), {
    grow: sizeBytes => resizeStore(store, sizeBytes),
    look() {
      assert.deepEqual(sessions(), ['127.0.0.1', '127.0.0.2']);
      assert.equal(disks().filter(entry => entry.startsWith('dm-')).length, 1);
    },
    left,
  });
});

for (const portals of [[first], both])
  test(`a volume over ${portals.length} of two portals that is attached again while it is staged is cut off and staged anew`, async t => {
    const { store } = open(t);
    const node = await startGuestNode(t);
    const attachment = attachmentTo(store, portals);
    await node.requireStagedAnew(node.volumeAt({ name: 'one', attachment }), left);
  });

for (const portals of [[first], both]) {
  const over = `${portals.length} portals`;
  test(`a device that is not the volume is refused over ${over}, and leaves no session, record or disk`, async t => {
    const { store } = open(t);
    const attachment = attachmentTo(store, portals);
    for (const change of [{ wwid: 'naa.6001405000000000' }, { serial: 'other' }, { sizeBytes: 128 * MiB }]) {
      await assert.rejects(iscsi.connect({ ...attachment, ...change }, host), {
        code: 'FAILED_PRECONDITION',
      });
      assert.deepEqual(left(), [], JSON.stringify(change));
    }
  });

  test(`a pod that only reads a block volume over ${over} cannot write to it, and sees its growth`, async t => {
    const { store } = open(t);
    const node = await startGuestNode(t);
    const capability = { block: {}, access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' as const } };
    const volume = { name: 'one', attachment: attachmentTo(store, portals), capability };
    const fields = { ...node.volumeAt(volume), readonly: true };
    await node.bringUp(fields);
    assert.throws(() => writeFileSync(fields.target_path, 'x', { flag: 'r+' }), { code: 'EPERM' });
    const writing = { ...fields, target_path: `${fields.target_path}-w`, readonly: false };
    await node.client.node.NodePublishVolume(writing);
    writeFileSync(writing.target_path, 'written', { flag: 'r+', flush: true });
    const args = [`if=${fields.target_path}`, 'bs=4096', 'count=1', 'iflag=direct', 'status=none'];
    assert.equal(execFileSync('dd', args).toString('latin1').slice(0, 7), 'written');
    resizeStore(store, 128 * MiB);
    await node.expand(fields, 128 * MiB);
    const size = execFileSync('blockdev', ['--getsize64', fields.target_path]).toString();
    assert.equal(Number(size), 128 * MiB);
    await node.client.node.NodeUnpublishVolume(writing);
    await node.takeDown(fields);
    assert.deepEqual(left(), []);
  });
}

test('a portal that does not answer is left out and added by the next connect; without any portal connect fails', async t => {
  const { target, attachment } = open(t);
  for (const portal of both) target.stop(portal);
  await assert.rejects(iscsi.connect(attachment, host), { code: 'UNAVAILABLE' });
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(left(), []);
  target.start(first);
  const device = await iscsi.connect(attachment, host);
  assert.deepEqual(sessions(), ['127.0.0.1']);
  target.start(second);
  assert.deepEqual(await iscsi.connect(attachment, host), device);
  assert.deepEqual(sessions(), ['127.0.0.1', '127.0.0.2']);
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(left(), []);
});

test('I/O continues while one of two portals is lost, and uses its path again when it is back', async t => {
  const { target, attachment } = open(t, 256 * MiB);
  const node = await startGuestNode(t);
  const capability = { ...writer, mount: { fs_type: 'btrfs' } };
  const fields = node.volumeAt({ name: 'one', attachment, capability });
  await node.bringUp(fields);
  await loseAPath(target, node, fields);
  await node.takeDown(fields);
  assert.deepEqual(left(), []);
});

test('a volume with a lost target can be disconnected', async t => {
  const { target, attachment } = open(t);
  const { number } = await iscsi.connect(attachment, host);
  for (const portal of both) target.stop(portal);
  cutConnections('dport', '=', ':3260');
  await untilSeen(() => !readEach('/sys/class/iscsi_session', 'state').includes('LOGGED_IN'));
  assert.equal(await iscsi.owns(attachment, number, host), true);
  await assert.rejects(iscsi.connect(attachment, host), { code: 'UNAVAILABLE' });
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(left(), []);
});

test('a volume over one portal is a plain disk, read-only in the kernel if its attachment is', async t => {
  const { store } = open(t);
  const attachment = attachmentTo(store, [first]);
  const { path, readonly } = await iscsi.connect({ ...attachment, readonly: true }, host);
  assert.match(path, /^\/dev\/sd/);
  assert.equal(readonly, true);
  const args = ['if=/dev/zero', `of=${path}`, 'count=1', 'oflag=direct'];
  assert.throws(() => execFileSync('dd', args, { stdio: 'ignore' }));
  await assert.rejects(iscsi.connect(attachment, host), { code: 'FAILED_PRECONDITION' });
  await iscsi.disconnect(attachment, host);
  assert.deepEqual(left(), []);
});

test('a node logs in with the name in the attachment where a target accepts only this one', async t => {
  const { store, target } = open(t);
  const initiator = 'iqn.2003-01.org.example:node-of-a-volume';
  acceptOnly(t, target, initiator);
  const attachment = attachmentTo(store);
  await assert.rejects(iscsi.connect(attachment, host), { code: 'UNAUTHENTICATED' });
  assert.deepEqual(left(), []);
  const named = { ...attachment, initiator };
  await iscsi.connect(named, host);
  // A portal that is lost and comes back is logged in to with the same name.
  target.stop(second);
  cutConnections('dst', '127.0.0.2', 'dport', '=', ':3260');
  target.start(second);
  await untilSeen(() => areUp() && sessions().length === both.length);
  await iscsi.disconnect(named, host);
  assert.deepEqual(left(), []);
});

test('two units of one target share its sessions until both are disconnected', async t => {
  const { makeStore, store, target } = open(t);
  const other = makeStore('a10', 64 * MiB);
  target.addUnit(1, other);
  const node = await startGuestNode(t);
  const one = node.volumeAt({ name: 'a1', attachment: attachmentTo(store, [first]) });
  const ten = node.volumeAt({ name: 'a10', attachment: attachmentTo(other, [first], 1) });
  await node.requireSharing([one, ten], sessions);
  assert.deepEqual(left(), []);
});

test('a unit with another identifier is refused, and a unit that replaces it is noticed', async t => {
  const { makeStore, store, target } = open(t);
  const other = makeStore('a10', 64 * MiB);
  const [one, ten] = [attachmentTo(store, [first]), attachmentTo(other, [first])];
  await assert.rejects(iscsi.connect(ten, host), { code: 'FAILED_PRECONDITION' });
  const { number } = await iscsi.connect(one, host);
  assert.equal(await iscsi.owns(one, number, host), true);
  assert.equal(await iscsi.owns(ten, number, host), false);
  target.dropUnit(0);
  target.addUnit(0, other);
  await assert.rejects(iscsi.connect(one, host));
  assert.equal(await iscsi.owns(one, number, host), false);
  await iscsi.disconnect(ten, host);
  assert.deepEqual(left(), []);
});

const account: ChapAccount = { userid: 'canary-user', password: 'canary # password' };
const secrets = {
  'node.session.auth.username': 'canary-user',
  'node.session.auth.password': 'canary # password',
};
const mutualAccount = { ...account, useridMutual: 'canary-target', passwordMutual: 'canary-of-target' };
const mutual = {
  ...secrets,
  'node.session.auth.username_in': 'canary-target',
  'node.session.auth.password_in': 'canary-of-target',
};

/** Opens a target with one unit that demands CHAP, and a node. */
async function openChap(t: TestContext, known: ChapAccount) {
  const { target, attachment } = open(t);
  demandChap(t, target, known);
  const node = await startGuestNode(t);
  const fields = node.volumeAt({ name: 'one', attachment });
  const filesWithSecrets = () => filesWith('canary', '/etc/iscsi', '/var/lib', '/run', node.bench.directory);
  return {
    node,
    target,
    fields,
    filesWithSecrets,
    left: () => [...left(), ...filesWithSecrets()],
    async requireRefused(given: Readonly<Record<string, string>>, code: string, says: RegExp) {
      const staging = node.client.node.NodeStageVolume({ ...fields, secrets: given });
      await assert.rejects(staging, (problem: Problem) => {
        assert.equal(problem.code, code, problem.detail);
        assert.match(problem.detail, says);
        assert.doesNotMatch(problem.detail, /canary/);
        return true;
      });
      assert.deepEqual([...sessions(), ...filesWithSecrets()], []);
    },
  };
}

for (const [how, known, given] of [
  ['its node proves itself', account, secrets],
  ['both prove themselves', mutualAccount, mutual],
] as const)
  test(`a volume whose target demands CHAP is staged if ${how}, written, and leaves nothing`, async t => {
    const chap = await openChap(t, known);
    await chap.node.requireLife(
      { ...chap.fields, secrets: given },
      {
        look() {
          assert.equal(sessions().length, 2);
          assert.equal(iscsiRecords().length, 2);
          for (const file of iscsiRecords()) assert.equal(statSync(file).mode & 0o777, 0o600);
          assert.deepEqual(chap.filesWithSecrets(), iscsiRecords());
        },
        left: chap.left,
      },
    );
  });

test('secrets that the target refuses are UNAUTHENTICATED and leave nothing, and the right ones succeed afterwards', async t => {
  const chap = await openChap(t, account);
  for (const given of [
    { ...secrets, 'node.session.auth.password': 'canary-wrong-one' },
    { ...secrets, 'node.session.auth.username': 'canary-nobody' },
    {},
  ]) {
    await chap.requireRefused(given, 'UNAUTHENTICATED', /does not accept/);
    assert.deepEqual(chap.left(), []);
  }
  await chap.node.bringUp({ ...chap.fields, secrets });
  await chap.node.takeDown(chap.fields);
  assert.deepEqual(chap.left(), []);
});

test('a target that does not prove its own identity is not used', async t => {
  const chap = await openChap(t, mutualAccount);
  const wrong = { ...mutual, 'node.session.auth.password_in': 'canary-wrong-one' };
  await chap.requireRefused(wrong, 'UNAVAILABLE', /may have failed to authenticate itself/);
  await chap.node.client.node.NodeUnstageVolume(chap.fields);
  assert.deepEqual(chap.left(), []);
});

test('an iscsid that was started later logs in with CHAP to a portal that was lost or did not answer at first', async t => {
  const chap = await openChap(t, mutualAccount);
  const { node, target } = chap;
  const fields = { ...chap.fields, secrets: mutual };
  target.stop(second);
  await node.bringUp(fields);
  assert.equal(sessions().length, 1);
  await node.takeDown(fields);
  target.start(second);
  await node.bringUp(fields);
  assert.equal(sessions().length, 2);
  await daemons?.restartIscsid();
  await loseAPath(target, node, fields);
  await node.takeDown(fields);
  assert.deepEqual(chap.left(), []);
});
