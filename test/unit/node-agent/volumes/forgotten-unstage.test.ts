import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secrets } from '../../../../node-agent/connector.ts';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { FakeHost } from '../../../fakes/host.ts';
import {
  block,
  openFakeBench,
  openService,
  openNode,
  startAgent,
  startWithoutRecords,
  type Bench,
  type VolumeChange,
} from '../../../harness/node.ts';
import { openFakeShares, shareRequest } from '../../../harness/node/shares.ts';

type Request = StageRequest & PublishRequest;

const refused = 'FAILED_PRECONDITION';
const secrets: Secrets = { 'encryption-passphrase': 'canary' };
const luks = { encryption: 'luks' } as const;

/** Makes the request of a volume that was detached and attached to the node again. */
function attachedAgain<R extends Request>(request: R, attachmentId = 'attachment-2'): R {
  return { ...request, attachment: { ...request.attachment, attachmentId } };
}

/** Opens a volume that is staged and was published; `lines` records the commands from then on. */
async function openForgotten(change: VolumeChange = {}, given: Secrets = {}) {
  const { bench, agent, request } = await openNode(openFakeBench(), change);
  await stage(agent, request, given);
  await publish(agent, request);
  await unpublish(agent, request);
  const lines: string[] = [];
  const run: typeof bench.host.run = (command, args, options) => {
    lines.push([command, ...args].join(' '));
    return bench.host.run(command, args, options);
  };
  const observed = { ...agent, host: { ...bench.host, run } };
  return { bench, agent: observed, request, again: attachedAgain(request), lines, state: bench.host.state };
}

const devices: Readonly<Record<string, readonly [VolumeChange, cut: RegExp]>> = {
  'an ext4': [{}, /loop\/cut-off\.ts \/dev\/loop0 \d+$/],
  'an xfs': [{ capability: { fsType: 'xfs' } }, /loop\/cut-off\.ts \/dev\/loop0 \d+$/],
  'a btrfs': [{ capability: { fsType: 'btrfs' } }, /loop\/cut-off\.ts \/dev\/loop0 \d+$/],
  'an encrypted ext4': [{ attachment: luks }, /^dmsetup wipe_table --noflush --nolockfs -- fairlead-/],
};

for (const [name, [change, cut]] of Object.entries(devices))
  test(`stage with a new attachment cuts off ${name} that is still staged, unmounts it, and stages it anew`, async () => {
    const given = change.attachment?.encryption ? secrets : {};
    const { agent, request, again, lines, state } = await openForgotten(change, given);
    await stage(agent, again, given);
    const [cutAt, unmountAt, mountAt] = [cut, /^umount /, /^mount /].map(pattern =>
      lines.findIndex(line => pattern.test(line)),
    );
    assert.ok(cutAt !== undefined && cutAt >= 0, lines.join('\n'));
    assert.ok(unmountAt !== undefined && mountAt !== undefined && cutAt < unmountAt && unmountAt < mountAt);
    assert.equal(state.mounts.length, 1);
    await assert.rejects(publish(agent, request), { code: refused });
    await publish(agent, again);
    await unpublish(agent, again);
    await unstage(agent, again);
    assert.deepEqual([state.mounts, state.loops.size, state.mappings.size], [[], 0, 0]);
  });

for (const fsType of ['ext4', 'xfs', 'btrfs'])
  for (const isSame of [true, false])
    test(`an ${fsType} without a record that no pod uses is cut off and staged anew, with ${isSame ? 'the same' : 'another'} attachment`, async () => {
      const { bench, request, again, state } = await openForgotten({ capability: { fsType } });
      const forgetful = await startWithoutRecords(bench);
      const asked = isSame ? request : again;
      await stage(forgetful, asked);
      assert.deepEqual([state.cutOff, state.mounts.length], [['/dev/loop0'], 1]);
      await publish(forgetful, asked);
      await unpublish(forgetful, asked);
      await unstage(forgetful, asked);
      assert.deepEqual([state.mounts, state.loops.size, forgetful.records.all()], [[], 0, []]);
    });

test('a filesystem without a record that a pod uses is adopted as it is', async () => {
  const { bench, agent, request, again, state } = await openForgotten();
  await publish(agent, request);
  const mounts = [...state.mounts];
  const forgetful = await startWithoutRecords(bench);
  await stage(forgetful, again);
  assert.deepEqual([state.cutOff, state.mounts], [[], mounts]);
});

test('an encrypted filesystem without a record is adopted only with its own attachment', async () => {
  const { bench, request, again, state } = await openForgotten({ attachment: luks }, secrets);
  const mounts = [...state.mounts];
  const forgetful = await startWithoutRecords(bench);
  await assert.rejects(stage(forgetful, again, secrets), { code: refused });
  await stage(forgetful, request, secrets);
  assert.deepEqual([state.cutOff, state.mounts], [[], mounts]);
});

test('a read-only mount without a record is staged anew, and a writable one is cut off for a reader', async () => {
  for (const isReader of [true, false]) {
    const attachment = { readonly: isReader };
    const { bench, again, state } = await openForgotten({ image: { content: 'ext4' }, attachment });
    const forgetful = await startWithoutRecords(bench);
    await stage(forgetful, { ...again, attachment: { ...again.attachment, readonly: !isReader } });
    assert.deepEqual(state.cutOff, isReader ? [] : ['/dev/loop0']);
  }
});

test('stage with a new attachment is refused while a pod uses the volume under the old one, and the error says where', async () => {
  const { agent, request, again, state } = await openForgotten();
  await publish(agent, request);
  const mounts = [...state.mounts];
  await assert.rejects(stage(agent, again), {
    code: refused,
    detail: `volume "c.v" is still published at "${request.targetPath}" with attachment "attachment-1"; unpublish it there first`,
  });
  assert.deepEqual([state.mounts, state.cutOff], [mounts, []]);
  await unpublish(agent, request);
  await stage(agent, again);
});

test("publish with another attachment than the stage's is refused, after a restart too", async () => {
  const { bench, agent, request, again } = await openForgotten();
  for (const one of [agent, await startAgent(bench)]) {
    await assert.rejects(publish(one, again), {
      code: refused,
      detail:
        'volume "c.v" is staged with attachment "attachment-1" and not with "attachment-2"; stage it again',
    });
    await publish(one, request);
    await assert.rejects(publish(one, again), { code: refused });
    await unpublish(one, request);
  }
});

test('the node service compares the publish context of a publish, and refuses one without it', async () => {
  const { ask, request } = await openService(openFakeBench());
  await ask('NodeStageVolume');
  const publish_context = { ...request.publish_context, attachmentId: 'attachment-2' };
  await assert.rejects(ask('NodePublishVolume', { publish_context }), { code: refused });
  await assert.rejects(ask('NodePublishVolume', { publish_context: {} }), { code: 'INVALID_ARGUMENT' });
  await ask('NodePublishVolume');
  await ask('NodeUnpublishVolume');
  await ask('NodeStageVolume', { publish_context });
  await ask('NodePublishVolume', { publish_context });
});

test('a block volume is connected anew with a new attachment, and refused while a pod has it', async () => {
  const { agent, request, again, state } = await openForgotten({ capability: block });
  const loop = state.loops.get(0);
  await publish(agent, request);
  await assert.rejects(stage(agent, again), { code: refused, detail: /still published at/ });
  await unpublish(agent, request);
  await stage(agent, again);
  assert.deepEqual([state.loops.size, state.loops.get(0) === loop], [1, false]);
  await assert.rejects(publish(agent, request), { code: refused });
  await publish(agent, again);
});

test('a mounted volume becomes a block volume with a new attachment', async () => {
  const { agent, again, state } = await openForgotten();
  await stage(agent, { ...again, capability: block });
  assert.deepEqual([state.mounts, state.cutOff], [[], ['/dev/loop0']]);
});

for (const protocol of ['bind', 'nfs'] as const)
  test(`a share over ${protocol} is mounted anew with a new attachment`, async () => {
    const shares = openFakeShares();
    const agent = await startAgent(shares);
    const request = shareRequest(shares, shares[protocol]('one'));
    const again = attachedAgain(request);
    await stage(agent, request);
    await publish(agent, request);
    await assert.rejects(stage(agent, again), { code: refused, detail: /still published at/ });
    await unpublish(agent, request);
    await stage(agent, again);
    await assert.rejects(publish(agent, request), { code: refused });
    await publish(agent, again);
    await unpublish(agent, again);
    await unstage(agent, again);
    assert.equal(shares.host.state.mounts.length, 1);
  });

test('a read-only volume is not cut off, and is staged anew', async () => {
  const image = { content: 'ext4' };
  const { agent, again, state } = await openForgotten({ image, attachment: { readonly: true } });
  await stage(agent, { ...again, attachment: { ...again.attachment, readonly: false } });
  assert.deepEqual([state.mounts.length, state.cutOff], [1, []]);
});

test('a volume that is staged at another path is taken down there', async () => {
  const { agent, again, state } = await openForgotten();
  const elsewhere = { ...again, stagingPath: `${again.stagingPath}-other` };
  await stage(agent, elsewhere);
  assert.deepEqual(
    state.mounts.map(({ path }) => path),
    [elsewhere.stagingPath],
  );
});

test('an attachment that is older than the current one takes nothing down', async () => {
  const [older, newer] = ['01990000-0000-7000-8000-000000000000', '01990000-0001-7000-8000-000000000000'];
  const { agent, request } = await openNode(openFakeBench());
  await stage(agent, attachedAgain(request, newer));
  await assert.rejects(stage(agent, attachedAgain(request, older)), { code: refused, detail: /is older/ });
  await publish(agent, attachedAgain(request, newer));
});

test('a late unstage does not take down a volume that is published by then', async () => {
  const { agent, again, state } = await openForgotten();
  await stage(agent, again);
  await publish(agent, again);
  await assert.rejects(unstage(agent, again), { code: refused });
  await unpublish(agent, again);
  await unstage(agent, again);
  await assert.rejects(publish(agent, again), { code: refused, detail: /is not staged/ });
  assert.deepEqual(state.mounts, []);
});

test('a foreign mount at the staging path stays', async () => {
  const { agent, again, state } = await openForgotten();
  state.mounts = state.mounts.map(mount => ({ ...mount, device: '8:1', source: '/dev/sda1' }));
  state.texts.set('/sys/dev/block/8:1/dev', '8:1\n');
  await assert.rejects(stage(agent, again), { code: refused, detail: /is not volume "c\.v"/ });
  assert.equal(state.mounts.length, 1);
});

/** Stages with a new attachment on new machines, with a fault at each step in turn, and then once more. */
async function failAtEach(how: 'error' | 'crash', when: 'before' | 'after', areLost: boolean): Promise<void> {
  for (let step = 1; ; step++) {
    const { bench, request } = await openNode(openFakeBench());
    await stage(await startAgent(bench), request);
    const agent = await (areLost ? startWithoutRecords : startAgent)(bench);
    bench.host.failAt({ how, when, step });
    const again = attachedAgain(request);
    await requireCutOffFirst(bench, () => stage(agent, again).catch(() => {}));
    const isPast = bench.host.steps < step;
    bench.host.failAt(undefined);
    const next = how === 'crash' ? await startAgent(bench) : agent;
    await requireCutOffFirst(bench, () => stage(next, again));
    await publish(next, again);
    assert.equal(bench.host.state.mounts.length, 2);
    if (isPast) return;
  }
}

/** Fails unless the old mount stays until its device is cut off. */
async function requireCutOffFirst(
  { host }: Bench & { readonly host: FakeHost },
  work: () => Promise<void>,
): Promise<void> {
  const { mounts, cutOff } = host.state;
  const wasMounted = mounts.length > 0 && cutOff.length === 0;
  await work();
  assert.ok(!wasMounted || host.state.mounts.length > 0 || host.state.cutOff.length > 0);
}

for (const how of ['error', 'crash'] as const)
  for (const when of ['before', 'after'] as const)
    for (const areLost of [false, true])
      test(`${how} ${when} any step of a stage with a new attachment${areLost ? ' and without a record' : ''} is made good by the next`, () =>
        failAtEach(how, when, areLost));
