import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Problem } from '../../../../src/api/problem.ts';
import { untilAvailable } from '../../../harness/csi-serving.ts';
import { loadTarget } from '../../targets/configfs.ts';
import {
  accessOf,
  kernelExports,
  makePoolDirectory,
  openPoolWith,
  targetsLeft,
} from '../../targets/exported.ts';
import { recorded } from '../../../suites/exports/recorded.ts';
import { undoLast } from '../../targets/undo.ts';
import { filesWith, startGuestNode, untilSeen } from '../agent.ts';

mkdirSync('/etc/nvme', { recursive: true });
writeFileSync('/etc/nvme/hostnqn', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555\n');
writeFileSync('/etc/nvme/hostid', '11111111-2222-3333-4444-555555555555\n');

const devices = '/sys/class/nvme';
const controllers = () => (existsSync(devices) ? readdirSync(devices) : []);

/** Opens a pool whose export demands keys, a node, and a volume. */
async function open(t: TestContext) {
  loadTarget();
  const pool = await openPoolWith(
    t,
    { ...kernelExports['nvme-tcp'], authentication: 'dhchap' },
    makePoolDirectory(t),
  );
  undoLast(t, () => pool.backend.restore?.(recorded([])));
  const node = await startGuestNode(t);
  const volume = await pool.makeVolume('c.one', 64);
  return {
    pool,
    node,
    volume,
    /** Attaches the volume to the node under a new attachment. */
    async attach() {
      const { attachment, secrets } = await pool.attach(volume, accessOf('n1'));
      return { ...node.volumeAt({ name: 'one', attachment }), secrets };
    },
    /** Lists keys in files, and the connections of the node. */
    left: () => [...controllers(), ...filesWith('DHHC', node.bench.directory, '/run')],
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/**
 * Fails unless the node is refused with these secrets, in words that name the keys but show none, and nothing is left. A
 * kernel may wait a minute for the answer of one that refused it.
 */
async function requireRefused(
  { node, left }: Opened,
  fields: Awaited<ReturnType<Opened['attach']>>,
): Promise<void> {
  await assert.rejects(node.client.node.NodeStageVolume(fields), ({ code, detail }: Problem) => {
    assert.ok(['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(code), code);
    assert.match(detail, /with the keys of this attachment|key not available/);
    assert.doesNotMatch(detail, /DHHC/);
    return true;
  });
  await untilSeen(() => left().length === 0);
}

test('a volume is attached with the keys of both sides, written, expanded, and leaves no key', async t => {
  const { pool, node, volume, attach, left } = await open(t);
  const fields = await attach();
  assert.deepEqual(Object.keys(fields.secrets), ['dhchap-secret', 'dhchap-ctrl-secret']);
  await node.requireLife(fields, {
    grow: requiredBytes => pool.backend.expand(volume, { requiredBytes, limitBytes: 0 }),
    look() {
      for (const name of controllers())
        for (const file of ['dhchap_secret', 'dhchap_ctrl_secret'])
          assert.equal(statSync(join(devices, name, file)).mode & 0o777, 0o600);
      assert.equal(left().length, 1);
    },
    left,
  });
  await pool.backend.detach(volume, 'n1', 'c');
  assert.deepEqual(targetsLeft(), []);
});

test('the export refuses a node without the keys of its attachment, or with one wrong key', async t => {
  const opened = await open(t);
  const fields = await opened.attach();
  const { 'dhchap-secret': own = '', 'dhchap-ctrl-secret': theirs = '' } = fields.secrets;
  for (const secrets of [
    {},
    { 'dhchap-secret': theirs, 'dhchap-ctrl-secret': theirs },
    { 'dhchap-secret': own, 'dhchap-ctrl-secret': own },
  ])
    await requireRefused(opened, { ...fields, secrets });
  await untilAvailable(() => opened.node.bringUp(fields));
  await opened.node.takeDown(fields);
});

test('each attachment has keys of its own, and those of the last one are refused', async t => {
  const opened = await open(t);
  const { node, pool, volume } = opened;
  const before = await opened.attach();
  await node.bringUp(before);
  node.write(before);
  await node.takeDown(before);
  await pool.backend.detach(volume, 'n1', 'c');
  const now = await opened.attach();
  for (const name of ['dhchap-secret', 'dhchap-ctrl-secret'])
    assert.notEqual(now.secrets[name], before.secrets[name]);
  await requireRefused(opened, { ...now, secrets: before.secrets });
  await untilAvailable(() => node.bringUp(now));
  assert.equal(node.read(now), 'data');
  await node.takeDown(now);
});

test('a box that starts again accepts the keys that its nodes have', async t => {
  const opened = await open(t);
  const { pool, node, volume } = opened;
  const access = accessOf('n1');
  const { attachment, secrets } = await pool.attach(volume, access);
  const { secrets: _, ...reach } = await pool.backend.attach(volume, access);
  await pool.backend.detach(volume, 'n1', 'c');
  assert.deepEqual(targetsLeft(), []);
  await pool.reopen();
  await pool.backend.restore?.(recorded([{ volume, access, reach: { ...reach, sealed: 'j.w.e' } }]));
  const fields = { ...node.volumeAt({ name: 'one', attachment }), secrets };
  await requireRefused(opened, { ...fields, secrets: {} });
  await node.bringUp(fields);
  await node.takeDown(fields);
});
