import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import { expand } from '../../../../node-agent/volumes/expand.ts';
import { examine } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { Mount } from '../../../../src/lib/linux/mountinfo.ts';
import { measure, startAgent } from '../../../harness/node-agent-bench.ts';
import { openFakeShares, shareRequest } from '../../../harness/node-agent-share-bench.ts';

const protocols = ['bind', 'nfs'] as const;

type Request = StageRequest & PublishRequest;

async function openStaged(protocol: (typeof protocols)[number], change: Partial<Request> = {}) {
  const bench = openFakeShares();
  const request = { ...shareRequest(bench, bench[protocol]('v')), ...change };
  const agent = await startAgent(bench);
  await stage(agent, request);
  return { bench, request, agent };
}

for (const protocol of protocols) {
  test(`a ${protocol} volume is no block device and has no filesystem of one's choice`, async () => {
    const bench = openFakeShares();
    const agent = await startAgent(bench);
    const request = shareRequest(bench, bench[protocol]('v'));
    const rows: readonly Partial<Capability>[] = [
      { accessType: 'block' },
      { fsType: 'ext4' },
      { mountFlags: ['discard'] },
      { mountFlags: ['noatime,suid'] },
    ];
    for (const row of rows)
      await assert.rejects(stage(agent, { ...request, capability: { ...request.capability, ...row } }), {
        code: 'INVALID_ARGUMENT',
      });
    await stage(agent, { ...request, capability: { ...request.capability, fsType: protocol } });
  });

  test(`a ${protocol} volume grows with nothing to do on the node, and tells how full it is`, async () => {
    const { request, agent } = await openStaged(protocol);
    const at = { volumeId: 'c.v', path: request.stagingPath };
    assert.equal(await expand(agent, { ...at, requiredBytes: 2 ** 30, limitBytes: 0 }), 2 ** 30);
    assert.equal(await expand(agent, { ...at, requiredBytes: 0, limitBytes: 0 }), 2 ** 20);
    assert.equal((await measure(agent, at)).bytes.total, 409_600);
    const unknown = { ...at, path: `${request.stagingPath}-2`, requiredBytes: 0, limitBytes: 0 };
    await assert.rejects(expand(agent, unknown), { code: 'NOT_FOUND' });
  });

  test(`a ${protocol} volume is published at many paths, and unstaged after the last`, async () => {
    const { bench, request, agent } = await openStaged(protocol);
    const second = { ...request, targetPath: `${request.targetPath}-2`, readonly: true };
    for (const one of [request, second, second]) await publish(agent, one);
    assert.deepEqual(optionsAt(bench.host.state.mounts, second.targetPath), [['ro']]);
    await assert.rejects(unstage(agent, request), { code: 'FAILED_PRECONDITION' });
    for (const one of [request, second]) await unpublish(agent, one);
    await unstage(agent, request);
  });

  test(`another ${protocol} volume at the paths is neither adopted, published over nor unmounted`, async () => {
    const { bench, request, agent } = await openStaged(protocol);
    const other = { ...request, volumeId: 'c.other', attachment: bench[protocol]('other') };
    await assert.rejects(stage(agent, other), { code: 'FAILED_PRECONDITION' });
    const elsewhere = { ...other, stagingPath: `${request.stagingPath}-2` };
    await stage(agent, elsewhere);
    await publish(agent, elsewhere);
    await assert.rejects(publish(agent, request), { code: 'FAILED_PRECONDITION' });
    await bench.host.run('umount', ['--', request.stagingPath]);
    await bench.host.run('mount', ['--bind', '--', elsewhere.stagingPath, request.stagingPath]);
    await assert.rejects(unstage(agent, request), { code: 'FAILED_PRECONDITION' });
  });

  test(`the health of a ${protocol} volume tells a mount that is missing or another's`, async () => {
    const { bench, request, agent } = await openStaged(protocol);
    const look = async () => {
      const at = { volumeId: 'c.v', publishPath: '', stagingPath: request.stagingPath };
      return (await examine(agent, createReadings(agent), at)).map(({ reason }) => reason);
    };
    assert.deepEqual(await look(), []);
    await bench.host.run('umount', ['--', request.stagingPath]);
    assert.deepEqual(await look(), ['NotMounted']);
    const other = { ...request, volumeId: 'c.other', attachment: bench[protocol]('other') };
    const elsewhere = { ...other, stagingPath: `${request.stagingPath}-2` };
    await stage(agent, elsewhere);
    await bench.host.run('mount', ['--bind', '--', elsewhere.stagingPath, request.stagingPath]);
    assert.deepEqual(await look(), ['ForeignMount']);
  });
}

test('a share is mounted with its own options and those of its mount flags, which come before', async () => {
  const rows = [
    { protocol: 'bind', flags: [], readonly: false, line: '-o bind' },
    { protocol: 'bind', flags: ['nodev'], readonly: true, line: '-o bind,ro,nodev' },
    { protocol: 'nfs', flags: [], readonly: false, line: '-t nfs -o vers=4.2,retry=0' },
    {
      protocol: 'nfs',
      flags: ['vers=4.1', 'softerr'],
      readonly: true,
      line: '-t nfs -o retry=0,ro,vers=4.1,softerr',
    },
  ] as const;
  for (const { protocol, flags, readonly, line } of rows) {
    const bench = openFakeShares();
    const request = shareRequest(bench, { ...bench[protocol]('v'), readonly });
    const lines: string[] = [];
    const agent = await startAgent(bench);
    const run: typeof agent.host.run = (command, args) => {
      if (command === 'mount') lines.push(args.join(' '));
      return bench.host.run(command, args);
    };
    const capability = { ...request.capability, mountFlags: [...flags] };
    await stage({ ...agent, host: { ...agent.host, run } }, { ...request, capability });
    assert.equal(lines[0]?.split(' -- ')[0], line);
  }
});

test('a read-only bind that was cut short is finished, and never taken for done', async () => {
  const bench = openFakeShares();
  const request = shareRequest(bench, { ...bench.bind('v'), readonly: true });
  const agent = await startAgent(bench);
  await stage(agent, request);
  await bench.host.run('umount', ['--', request.stagingPath]);
  const { path } = bench.bind('v');
  await bench.host.run('mount', ['--bind', '--', path, request.stagingPath]);
  await stage(agent, request);
  assert.deepEqual(optionsAt(bench.host.state.mounts, request.stagingPath), [['ro']]);
});

test('a share that is published is not mounted anew, though its mount lacks what was asked for', async () => {
  const bench = openFakeShares();
  const request = shareRequest(bench, { ...bench.bind('v'), readonly: true });
  const agent = await startAgent(bench);
  await stage(agent, request);
  await publish(agent, request);
  await bench.host.run('umount', ['--', request.stagingPath]);
  await bench.host.run('mount', ['--bind', '--', bench.bind('v').path, request.stagingPath]);
  const before = [...bench.host.state.mounts];
  await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail: /still published/ });
  assert.deepEqual(bench.host.state.mounts, before);
});

test('an NFS server that does not answer ends the stage at its deadline, and leaves nothing mounted', async () => {
  const bench = openFakeShares();
  const request = shareRequest(bench, bench.nfs('v'));
  const agent = await startAgent(bench);
  const hung = { status: undefined, stdout: '', stderr: '', timedOut: true, missing: false };
  const run: typeof agent.host.run = async (command, args) =>
    command === 'mount' ? hung : bench.host.run(command, args);
  const hanging = { ...agent, host: { ...agent.host, run } };
  await assert.rejects(stage(hanging, request), { code: 'DEADLINE_EXCEEDED' });
  await unstage(agent, request);
  assert.equal(bench.host.state.mounts.length, 1);
});

function optionsAt(mounts: readonly Mount[], path: string): readonly (readonly string[])[] {
  return mounts.filter(mount => mount.path === path).map(({ options }) => options);
}
