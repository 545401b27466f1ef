import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { examine, examineAll } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { measure, startAgent, takeDown, withCommands } from '../../../harness/node.ts';
import { asVolume, openFakeShares, shareRequest, type ShareRequest } from '../../../harness/node/shares.ts';

const protocols = ['bind', 'nfs'] as const;
type Name = (typeof protocols)[number];

async function open(protocol: Name, readonly = false) {
  const bench = openFakeShares();
  const request = shareRequest(bench, { ...bench[protocol]('v'), readonly });
  const agent = await startAgent(bench);
  /** Another volume, at paths of its own. */
  const other = { ...asVolume(request, 'other'), attachment: bench[protocol]('other') };
  /** Replaces the volume's mount at its staging path. */
  const replace = async (source: string): Promise<void> => {
    await bench.host.run('umount', ['--', request.stagingPath]);
    await bench.host.run('mount', ['--bind', '--', source, request.stagingPath]);
  };
  const optionsAt = (path: string) =>
    bench.host.state.mounts.filter(mount => mount.path === path).map(({ options }) => options);
  return { bench, request, agent, other, replace, optionsAt };
}

async function openStaged(protocol: Name, readonly = false) {
  const opened = await open(protocol, readonly);
  await stage(opened.agent, opened.request);
  return opened;
}

const refused = { code: 'FAILED_PRECONDITION' };

for (const protocol of protocols) {
  test(`a ${protocol} volume can be no block device and has no choice of a filesystem`, async () => {
    const { agent, request } = await open(protocol);
    const withCapability = (change: Partial<Capability>): ShareRequest => ({
      ...request,
      capability: { ...request.capability, ...change },
    });
    const rows: readonly Partial<Capability>[] = [
      { accessType: 'block' },
      { fsType: 'ext4' },
      { mountFlags: ['discard'] },
      { mountFlags: ['noatime,suid'] },
    ];
    for (const row of rows)
      await assert.rejects(stage(agent, withCapability(row)), { code: 'INVALID_ARGUMENT' });
    await stage(agent, withCapability({ fsType: protocol }));
  });

  test(`a ${protocol} volume grows without work on the node, and reports its usage`, async () => {
    const { request, agent } = await openStaged(protocol);
    const at = { volumeId: 'c.v', path: request.stagingPath };
    assert.equal(await expand(agent, { ...at, requiredBytes: 2 ** 30, limitBytes: 0 }), 2 ** 30);
    assert.equal(await expand(agent, { ...at, requiredBytes: 0, limitBytes: 0 }), 2 ** 20);
    assert.equal((await measure(agent, at)).bytes.total, 409_600);
    await assert.rejects(measure(agent, { ...at, path: `${at.path}-2` }), { code: 'NOT_FOUND' });
  });

  test(`a ${protocol} volume is published at many paths, and unstaged after the last`, async () => {
    const { request, agent, optionsAt } = await openStaged(protocol);
    const second = { ...request, targetPath: `${request.targetPath}-2`, readonly: true };
    for (const one of [request, second, second]) await publish(agent, one);
    assert.deepEqual(optionsAt(second.targetPath), [['ro']]);
    await assert.rejects(unstage(agent, request), refused);
    await unpublish(agent, second);
    await takeDown(agent, request);
  });

  test(`another ${protocol} volume at the paths is neither adopted, published over nor unmounted`, async () => {
    const { request, agent, other, replace } = await openStaged(protocol);
    await assert.rejects(stage(agent, { ...other, stagingPath: request.stagingPath }), refused);
    const atTarget = { ...other, targetPath: request.targetPath };
    await stage(agent, other);
    await publish(agent, atTarget);
    await assert.rejects(publish(agent, request), refused);
    await replace(other.stagingPath);
    await assert.rejects(unstage(agent, request), refused);
  });

  test(`the health of a ${protocol} volume reports a missing or foreign mount`, async () => {
    const { bench, request, agent, other, replace } = await openStaged(protocol);
    const look = async () => {
      const at = { volumeId: 'c.v', publishPath: '', stagingPath: request.stagingPath };
      return (await examine(agent, createReadings(agent), at)).map(({ reason }) => reason);
    };
    assert.deepEqual(await look(), []);
    await bench.host.run('umount', ['--', request.stagingPath]);
    assert.deepEqual(await look(), ['NotMounted']);
    await stage(agent, other);
    await replace(other.stagingPath);
    assert.deepEqual(await look(), ['ForeignMount']);
  });

  test(`two volumes on one share (${protocol}) are mounted and unmounted independently`, async () => {
    const { agent, request } = await open(protocol);
    const [a, b] = [asVolume(request, 'a'), asVolume(request, 'b')];
    for (const operation of [stage, publish]) for (const each of [a, b]) await operation(agent, each);
    await assert.rejects(unstage(agent, a), { ...refused, detail: /published at ".*\/pods\/a"/ });
    for (const operation of [unpublish, unstage]) for (const each of [a, b]) await operation(agent, each);
    assert.deepEqual(agent.records.all(), []);
  });
}

const lines = [
  { protocol: 'bind', flags: [], readonly: false, line: '-o bind' },
  { protocol: 'bind', flags: ['nodev'], readonly: true, line: '-o bind, -o remount,bind,ro,nodev' },
  { protocol: 'nfs', flags: [], readonly: false, line: '-t nfs -o vers=4.2,retry=0' },
  {
    protocol: 'nfs',
    flags: ['_netdev', 'nfsvers=4.1', 'softerr', 'nolock', 'bg'],
    readonly: true,
    line: '-t nfs -o retry=0,ro,vers=4.1,softerr',
  },
] as const;

for (const { protocol, flags, readonly, line } of lines)
  test(`a share is mounted with its mount flags followed by its own options: ${line}`, async () => {
    const { request, agent } = await open(protocol, readonly);
    const seen: string[] = [];
    const watched = withCommands(agent, (command, args) => {
      if (command === 'mount') seen.push(args.slice(2, args.indexOf('--')).join(' '));
      return undefined;
    });
    const capability = { ...request.capability, mountFlags: [...flags] };
    await stage(watched, { ...request, capability });
    assert.equal(seen.join(', '), line);
  });

test('an interrupted read-only bind is finished, and does not count as done', async () => {
  const { bench, request, agent, replace, optionsAt } = await openStaged('bind', true);
  await replace(bench.bind('v').path);
  await stage(agent, request);
  assert.deepEqual(optionsAt(request.stagingPath), [['ro']]);
});

test('a published share is not mounted anew even if its mount lacks requested options', async () => {
  const { bench, request, agent, replace } = await openStaged('bind', true);
  await publish(agent, request);
  await replace(bench.bind('v').path);
  const before = [...bench.host.state.mounts];
  await assert.rejects(stage(agent, request), { ...refused, detail: /still published/ });
  assert.deepEqual(bench.host.state.mounts, before);
});

test('a stage with an NFS server that does not answer ends at its deadline and leaves nothing mounted', async () => {
  const { bench, request, agent } = await open('nfs');
  const hanging = withCommands(agent, command => (command === 'mount' ? { timedOut: true } : undefined));
  await assert.rejects(stage(hanging, request), { code: 'DEADLINE_EXCEEDED' });
  await unstage(agent, request);
  assert.equal(bench.host.state.mounts.length, 1);
});

test('a share that root may not use has a fault in health and in metrics for as long as that lasts', async () => {
  for (const readonly of [false, true]) {
    const { agent, bench, request } = await openStaged('nfs', readonly);
    await publish(agent, { ...request, readonly });
    const { volumeId, stagingPath, targetPath } = request;
    const asked: string[] = [];
    let answer: Partial<ExecResult> = { stdout: `${targetPath}\n` };
    bench.host.state.extra.set('find', args => {
      asked.push(args.join(' '));
      return answer;
    });
    const readings = createReadings(agent);
    const reasons = async () =>
      (await examine(agent, readings, { volumeId, stagingPath, publishPath: targetPath })).map(
        ({ status, reason }) => `${status} ${reason}`,
      );
    const counted = async () => (await examineAll(agent)).flatMap(({ faults }) => faults);
    assert.deepEqual(await counted(), []);
    await measure(agent, { volumeId, path: targetPath });
    assert.deepEqual(await counted(), ['RootRefused'], 'by the statistics alone');
    assert.deepEqual(await reasons(), ['DEGRADED RootRefused']);
    const needs = '! -readable -o ! -executable';
    const all = readonly ? needs : `${needs} -o ! -writable`;
    assert.equal(asked[0], `${targetPath} -maxdepth 0 ( ${all} ) -print`);
    answer = { status: undefined, timedOut: true, stdout: '' };
    assert.deepEqual(await reasons(), ['DEGRADED RootRefused'], 'an unknown state stays');
    answer = { stdout: '' };
    assert.deepEqual([await reasons(), await counted()], [[], []]);
    await unpublish(agent, request);
    await unstage(agent, request);
  }
});

test("a directory of this machine is not checked for root's access", async () => {
  const { agent, bench, request } = await openStaged('bind');
  bench.host.state.extra.set('find', () => assert.fail('it was asked'));
  await measure(agent, { volumeId: request.volumeId, path: request.stagingPath });
});
