import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../../src/api/problem.ts';
import { bringUp, startGuestNode, takeDown, volumeAt, type GuestNode } from './agent.ts';
import { demandKeys, hasTargetKeys, startNvmeTarget } from '../targets/nvme-target.ts';

const subsystem = 'nqn.2014-08.org.example:fairlead';
const MiB = 2 ** 20;
const capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };

mkdirSync('/etc/nvme', { recursive: true });
writeFileSync('/etc/nvme/hostnqn', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555\n');
writeFileSync('/etc/nvme/hostid', '11111111-2222-3333-4444-555555555555\n');

function makeKey(): string {
  return execFileSync('nvme', ['gen-dhchap-key', '--hmac=1'], { encoding: 'utf8' }).trim();
}

const [own, theirs, other] = [makeKey(), makeKey(), makeKey()];

function controllers(): readonly string[] {
  const place = '/sys/class/nvme';
  return existsSync(place) ? readdirSync(place).map(name => `${place}/${name}`) : [];
}

function isLive(place: string): boolean {
  return readFileSync(`${place}/state`, 'utf8').trim() === 'live';
}

async function open(t: TestContext) {
  const target = startNvmeTarget(t, subsystem);
  const node = await startGuestNode(t);
  const fields = volumeAt(node, { name: 'one', attachment: target.makeVolume('one', 64 * MiB), capability });
  return { target, node, fields };
}

/** Files in which a key stands, but this file's own code as it was compiled. */
function filesWithKeys({ bench }: GuestNode): readonly string[] {
  const args = [
    '--recursive',
    '--files-with-matches',
    '--devices=skip',
    '--exclude-dir=compiled',
    '--',
    'DHHC',
    bench.directory,
    '/run',
  ];
  return spawnSync('grep', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
}

const hasKeys = hasTargetKeys();
const whyNoKeys = 'needs a kernel with CONFIG_NVME_HOST_AUTH and CONFIG_NVME_TARGET_AUTH';

test(
  'a kernel that cannot authenticate is told of at stage, though the target would let anybody in',
  hasKeys ? { skip: 'this kernel can' } : {},
  async t => {
    const { node, fields } = await open(t);
    const staging = node.client.node.NodeStageVolume({ ...fields, secrets: { 'dhchap-secret': own } });
    await assert.rejects(staging, (problem: Problem) => {
      assert.equal(problem.code, 'FAILED_PRECONDITION');
      assert.match(problem.detail, /CONFIG_NVME_HOST_AUTH.*"dhchap-secret"/);
      assert.doesNotMatch(problem.detail, /DHHC/);
      return true;
    });
    assert.deepEqual(controllers(), []);
    assert.deepEqual(filesWithKeys(node), []);
  },
);

for (const [how, keys, secrets] of [
  ['the node proves itself', { host: own }, { 'dhchap-secret': own }],
  [
    'both prove themselves',
    { host: own, controller: theirs },
    { 'dhchap-secret': own, 'dhchap-ctrl-secret': theirs },
  ],
] as const)
  test(
    `a volume whose subsystem demands keys is staged where ${how}, written, and leaves nothing`,
    hasKeys ? {} : { skip: whyNoKeys },
    async t => {
      const { target, node, fields } = await open(t);
      demandKeys(t, target, keys);
      await bringUp(node, { ...fields, secrets });
      assert.equal(controllers().length, 2);
      for (const place of controllers())
        for (const file of ['dhchap_secret', 'dhchap_ctrl_secret'])
          assert.equal(statSync(`${place}/${file}`).mode & 0o777, 0o600);
      writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
      await bringUp(node, fields);
      assert.deepEqual(filesWithKeys(node), []);
      await takeDown(node, fields);
      assert.deepEqual(controllers(), []);
      await bringUp(node, { ...fields, secrets });
      assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
      await takeDown(node, fields);
      assert.deepEqual(controllers(), []);
    },
  );

test(
  'keys that are wrong, on either side, connect nothing and are in no error',
  hasKeys ? {} : { skip: whyNoKeys },
  async t => {
    const { target, node, fields } = await open(t);
    demandKeys(t, target, { host: own, controller: theirs });
    for (const secrets of [
      { 'dhchap-secret': other },
      { 'dhchap-secret': own, 'dhchap-ctrl-secret': other },
      {},
    ]) {
      const staging = node.client.node.NodeStageVolume({ ...fields, secrets });
      await assert.rejects(staging, (problem: Problem) => {
        assert.equal(problem.code, 'UNAVAILABLE', problem.detail);
        assert.doesNotMatch(problem.detail, /DHHC/);
        return true;
      });
      assert.deepEqual(controllers(), []);
    }
    await node.client.node.NodeUnstageVolume(fields);
  },
);

test(
  'a connection that was lost is made again by the kernel, with its key',
  hasKeys ? {} : { skip: whyNoKeys },
  async t => {
    const { target, node, fields } = await open(t);
    demandKeys(t, target, { host: own });
    await bringUp(node, { ...fields, secrets: { 'dhchap-secret': own } });
    execFileSync('ss', ['--kill', '--tcp', 'dst', '127.0.0.1', 'dport', '=', ':4420']);
    writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
    while (!controllers().every(isLive)) await sleep(100);
    assert.equal(controllers().length, 2);
    await takeDown(node, fields);
    assert.deepEqual(controllers(), []);
  },
);
