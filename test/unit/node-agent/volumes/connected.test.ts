import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import type { Host } from '../../../../node-agent/host.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { openFakeBench, openNode, otherVolume, startAgent } from '../../../harness/node.ts';

/** Returns the agent on a machine that does other work right before or after one command. */
function withMischief(agent: Agent, mischief: { before?: string; after?: string; work: () => void }): Agent {
  const run: Host['run'] = async (command, args, options) => {
    if (command === mischief.before) mischief.work();
    const result = await agent.host.run(command, args, options);
    if (command === mischief.after) mischief.work();
    return result;
  };
  return { ...agent, host: { ...agent.host, run } };
}

async function openTwo(content = 'ext4') {
  const { bench, agent, request } = await openNode(openFakeBench(), { image: { content } });
  const foreign = otherVolume(bench, request, { content: 'ext4' }).attachment.path;
  const { state } = bench.host;
  /** Gives the volume's device number to the other file, as after a detach and an attach. */
  const replace = (backing: string): void => {
    const [index = 0, loop] = [...state.loops][0] ?? [];
    if (loop) state.loops.set(index, { ...loop, backing, diskseq: ++state.diskseq });
  };
  return { bench, request, foreign, replace, agent };
}

test('a device number that another file took right before the mount is refused, and the mount removed', async () => {
  const { bench, request, foreign, replace, agent } = await openTwo();
  const disturbed = withMischief(agent, { before: 'mount', work: () => replace(foreign) });
  await assert.rejects(stage(disturbed, request), {
    code: 'UNAVAILABLE',
    detail: 'device "/dev/loop0" is no longer volume "c.v"; try again',
  });
  assert.deepEqual(bench.host.state.mounts, []);
  assert.equal(bench.host.state.loops.get(0)?.backing, foreign);
});

test('a device that was gone and came back with the same file is connected anew, and not trusted meanwhile', async () => {
  const { bench, request, replace, agent } = await openTwo();
  const work = () => replace(request.attachment.path);
  await assert.rejects(stage(withMischief(agent, { before: 'mount', work }), request), {
    code: 'UNAVAILABLE',
    detail: /no longer volume "c\.v"/,
  });
  assert.deepEqual(bench.host.state.mounts, []);
  await stage(agent, request);
  await unstage(agent, request);
});

test('a file with data at the time of its connection is never formatted, even if it looked empty before', async () => {
  const { bench, request, agent } = await openTwo('blank');
  const { images, formatted } = bench.host.state;
  const image = images.get(request.attachment.path) ?? assert.fail();
  const disturbed = withMischief(agent, { after: 'blkid', work: () => (image.content = 'ext4') });
  await assert.rejects(stage(disturbed, request), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
  assert.deepEqual(formatted, []);
  await stage(agent, request);
  assert.deepEqual(formatted, []);
});

test('a file that took the device after the preparation of the mount is neither mounted nor examined', async () => {
  for (const isForeign of [true, false]) {
    const { bench, request, foreign, replace, agent } = await openTwo();
    let isPrepared = false;
    const host: Host = {
      ...agent.host,
      async createDirectory(path) {
        await agent.host.createDirectory(path);
        if (path !== request.stagingPath) return;
        replace(isForeign ? foreign : request.attachment.path);
        isPrepared = true;
      },
      run: (...line) => (isPrepared ? assert.fail(`"${line[0]}" was run`) : agent.host.run(...line)),
    };
    await assert.rejects(stage({ ...agent, host }, request), {
      code: 'UNAVAILABLE',
      detail: 'device "/dev/loop0" is no longer volume "c.v"; try again',
    });
    assert.deepEqual(bench.host.state.mounts, []);
  }
});

test('a device that was gone since it was proved blank is not formatted', async () => {
  const { bench, request, replace, agent } = await openTwo('blank');
  const disturbed = withMischief(agent, { after: 'xargs', work: () => replace(request.attachment.path) });
  await assert.rejects(stage(disturbed, request), { code: 'UNAVAILABLE', detail: /no longer volume/ });
  assert.deepEqual(bench.host.state.formatted, []);
});

test('the sequence number is recorded with the device, and a record without one is valid', async () => {
  const { bench, request, agent } = await openTwo();
  await stage(agent, request);
  const record = agent.records.get('c.v');
  const diskseq = String(bench.host.state.diskseq);
  assert.equal(record?.device?.diskseq, diskseq);
  await agent.records.put(record ?? assert.fail());
  assert.equal((await startAgent(bench)).records.get('c.v')?.device?.diskseq, diskseq);
  const { diskseq: _, ...device } = record.device ?? assert.fail();
  await agent.records.put({ ...record, device });
  await unstage(await startAgent(bench), request);
});
