import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../../src/api/problem.ts';
import { bringUp, startGuestNode, takeDown, volumeAt, type GuestNode } from './agent.ts';
import { demandChap, type ChapAccount } from '../targets/chap-target.ts';
import { openStores, startDaemons, startIscsiTarget, type Daemons } from '../targets/scsi-target.ts';

const name = 'iqn.2003-01.org.example:fairlead';
const MiB = 2 ** 20;
const capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
const records = '/etc/iscsi/nodes';

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

let daemons: Daemons | undefined;
before(async () => (daemons = await startDaemons()));
after(() => daemons?.stop());

async function open(t: TestContext, known: ChapAccount) {
  const store = openStores(t)('a1', 64 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  const setAccount = demandChap(t, target, known);
  const node = await startGuestNode(t);
  const { wwid, serial } = store;
  const attachment = {
    protocol: 'iscsi' as const,
    portals: target.portals,
    target: name,
    lun: 0,
    wwid,
    serial,
    attachmentId: 'attachment-a1',
    sizeBytes: 64 * MiB,
    readonly: false,
    mayFormat: true,
  };
  return { node, target, setAccount, fields: volumeAt(node, { name: 'one', attachment, capability }) };
}

/** The files of open-iscsi's records. */
function recordFiles(): readonly string[] {
  if (!existsSync(records)) return [];
  return readdirSync(records, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));
}

/** Files in which one of the secrets stands, but this file's own code as it was compiled. */
function filesWithSecrets({ bench }: GuestNode): readonly string[] {
  const places = ['/etc/iscsi', '/var/lib', '/run', bench.directory].filter(place => existsSync(place));
  const skipped = ['--devices=skip', '--exclude-dir=compiled'];
  const args = ['--recursive', '--files-with-matches', ...skipped, '--', 'canary', ...places];
  return spawnSync('grep', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
}

function states(): readonly string[] {
  const place = '/sys/class/iscsi_session';
  if (!existsSync(place)) return [];
  return readdirSync(place).map(entry => readFileSync(`${place}/${entry}/state`, 'utf8').trim());
}

function assertNothingLeft(node: GuestNode): void {
  assert.deepEqual(states(), []);
  assert.deepEqual(recordFiles(), []);
  assert.deepEqual(filesWithSecrets(node), []);
}

for (const [how, known, given] of [
  ['its node proves itself', account, secrets],
  ['both prove themselves', mutualAccount, mutual],
] as const)
  test(`a volume whose target demands CHAP is staged where ${how}, written, and leaves nothing`, async t => {
    const { node, fields } = await open(t, known);
    await bringUp(node, { ...fields, secrets: given });
    assert.deepEqual(states(), ['LOGGED_IN', 'LOGGED_IN']);
    writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
    const files = recordFiles();
    assert.equal(files.length, 2);
    for (const file of files) assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(filesWithSecrets(node).toSorted(), files.toSorted());
    await takeDown(node, fields);
    assertNothingLeft(node);
    await bringUp(node, { ...fields, secrets: given });
    assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
    await takeDown(node, fields);
    assertNothingLeft(node);
  });

test('secrets that the target does not accept are UNAUTHENTICATED, leave nothing, and are right the next time', async t => {
  const { node, fields } = await open(t, account);
  const stage = (given: Readonly<Record<string, string>>) =>
    node.client.node.NodeStageVolume({ ...fields, secrets: given });
  for (const given of [
    { ...secrets, 'node.session.auth.password': 'canary-wrong-one' },
    { ...secrets, 'node.session.auth.username': 'canary-nobody' },
    {},
  ]) {
    await assert.rejects(stage(given), (problem: Problem) => {
      assert.equal(problem.code, 'UNAUTHENTICATED', problem.detail);
      assert.doesNotMatch(problem.detail, /canary/);
      return true;
    });
    assertNothingLeft(node);
  }
  await stage(secrets);
  await node.client.node.NodeUnstageVolume(fields);
  assertNothingLeft(node);
});

test('a target that does not prove itself as it should is not used', async t => {
  const { node, fields } = await open(t, mutualAccount);
  const wrong = { ...mutual, 'node.session.auth.password_in': 'canary-wrong-one' };
  await assert.rejects(
    node.client.node.NodeStageVolume({ ...fields, secrets: wrong }),
    (problem: Problem) => {
      assert.equal(problem.code, 'UNAVAILABLE', problem.detail);
      assert.match(problem.detail, /may not have proved itself/);
      assert.doesNotMatch(problem.detail, /canary/);
      return true;
    },
  );
  assert.deepEqual(states(), []);
  assert.deepEqual(filesWithSecrets(node), []);
  await node.client.node.NodeUnstageVolume(fields);
  assertNothingLeft(node);
});

test('a portal that was gone is logged in to again, with CHAP and by an iscsid that was started since', async t => {
  const { node, target, fields } = await open(t, mutualAccount);
  await bringUp(node, { ...fields, secrets: mutual });
  await daemons?.restartIscsid();
  target.stop('127.0.0.2:3260');
  execFileSync('ss', ['--kill', '--tcp', 'dst', '127.0.0.2', 'dport', '=', ':3260']);
  writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
  target.start('127.0.0.2:3260');
  while (states().some(state => state !== 'LOGGED_IN')) await sleep(100);
  await bringUp(node, { ...fields, secrets: mutual });
  assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
  await takeDown(node, fields);
  assertNothingLeft(node);
});

test('a portal that did not answer at first is added by the next stage, with secrets', async t => {
  const { node, target, fields } = await open(t, account);
  target.stop('127.0.0.2:3260');
  await bringUp(node, { ...fields, secrets });
  assert.deepEqual(states(), ['LOGGED_IN']);
  await takeDown(node, fields);
  target.start('127.0.0.2:3260');
  await bringUp(node, { ...fields, secrets });
  assert.deepEqual(states(), ['LOGGED_IN', 'LOGGED_IN']);
  await takeDown(node, fields);
  assertNothingLeft(node);
});
