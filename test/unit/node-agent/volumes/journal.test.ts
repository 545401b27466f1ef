import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { openFakeBench, openNode, startAgent } from '../../../harness/node.ts';

const secrets = { 'encryption-passphrase': 'canary' };

/** Opens a reader's encrypted volume whose ext4 was not unmounted cleanly. */
async function openEncrypted(mayReplay: boolean) {
  const bench = openFakeBench();
  const { agent, request } = await openNode(bench, { attachment: { encryption: 'luks' } });
  await stage(agent, request, secrets);
  await unstage(agent, request);
  const inside = bench.host.state.images.get(request.attachment.path)?.inside ?? assert.fail();
  Object.assign(inside, { needsReplay: true, data: 'precious' });
  const attachment = { ...request.attachment, readonly: true, ...(mayReplay && { mayReplay }) };
  return { bench, agent, inside, request: { ...request, attachment } };
}

test('the journal of an encrypted volume is replayed, and its mapping is read-only afterwards', async () => {
  const { bench, agent, request, inside } = await openEncrypted(true);
  await stage(agent, request, secrets);
  const { loops, mappings, mounts } = bench.host.state;
  assert.equal(inside.needsReplay, undefined);
  assert.deepEqual(
    [...loops.values(), ...mappings.values()].map(one =>
      'isReadonly' in one ? one.isReadonly : one.readonly,
    ),
    [true, true],
  );
  assert.deepEqual(
    mounts.map(({ options }) => options),
    [['ro']],
  );
  await unstage(agent, request);
});

test('the journal of an encrypted volume is replayed even if the agent ends at any step', async () => {
  for (let step = 1; ; step++) {
    const { bench, agent, request, inside } = await openEncrypted(true);
    const { state } = bench.host;
    bench.host.failAt({ step, when: 'after', how: 'crash' });
    await stage(agent, request, secrets).catch(() => {});
    const isPast = bench.host.steps < step;
    bench.host.failAt(undefined);
    const next = await startAgent(bench);
    await stage(next, request, secrets);
    await publish(next, request);
    const mappings = [...state.mappings.values()].map(({ isReadonly }) => isReadonly);
    assert.deepEqual(
      [mappings, inside.needsReplay, inside.data],
      [[true], undefined, 'precious'],
      `step ${step}`,
    );
    await unpublish(next, request);
    await unstage(next, request);
    assert.deepEqual([state.mounts.length, state.loops.size, state.mappings.size], [0, 0, 0]);
    if (isPast) return;
  }
});

test('a node that may not write refuses a journal that needs a replay, and names the remedy', async () => {
  const { agent, request, inside, bench } = await openEncrypted(false);
  await assert.rejects(stage(agent, request, secrets), {
    code: 'FAILED_PRECONDITION',
    detail: /^volume "c\.v" was not unmounted cleanly; mount it once for writing: /,
  });
  assert.equal(inside.needsReplay, true);
  assert.deepEqual([bench.host.state.loops.size, bench.host.state.mappings.size], [0, 0]);
});

test('a device that refuses writes against its attachment is refused with the same message', async () => {
  const { agent, request, bench } = await openEncrypted(true);
  const { state } = bench.host;
  // The storage makes it read-only for everyone.
  state.extra.set('losetup', args => {
    if (args[0] === '--detach') state.loops.clear();
    if (args[0] === '--list' || args[0] === '--detach') return 0;
    state.loops.set(0, {
      backing: request.attachment.path,
      readonly: true,
      sizeBytes: 320 * 2 ** 20,
      diskseq: ++state.diskseq,
    });
    return { stdout: '/dev/loop0\n' };
  });
  await assert.rejects(stage(agent, request, secrets), {
    code: 'FAILED_PRECONDITION',
    detail: /was not unmounted cleanly; mount it once for writing/,
  });
});
