import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { expand } from '../../../../node-agent/volumes/expand.ts';
import { examine } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { Mount } from '../../../../src/lib/linux/mountinfo.ts';
import { measure, openRealBench, startAgent, whyNoMachine } from '../../../harness/node-agent-bench.ts';
import {
  makeDirectoryVolume,
  openFakeShares,
  shareRequest,
} from '../../../harness/node-agent-share-bench.ts';

const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };
const protocols = ['bind', 'nfs'] as const;

type Request = StageRequest & PublishRequest;
const operations: readonly ((agent: Agent, request: Request) => Promise<void>)[] = [
  stage,
  publish,
  unpublish,
  unstage,
];
const undo = [unpublish, unstage];

const faults = (['error', 'crash'] as const).flatMap(how =>
  (['before', 'after'] as const).map(when => ({ how, when })),
);

for (const protocol of protocols)
  for (const readonly of [false, true])
    for (const { how, when } of faults) {
      const kind = `${readonly ? 'a read-only' : 'a writable'} ${protocol} volume`;
      const fault = `that ends in ${how} ${when} its effect`;
      test(`${kind}: a retry heals every step ${fault}, and so does the undo`, async () => {
        for (const heals of [true, false]) await everyStep({ protocol, readonly, how, when, heals });
      });
    }

type Options = {
  readonly protocol: (typeof protocols)[number];
  readonly readonly: boolean;
  readonly how: 'error' | 'crash';
  readonly when: 'before' | 'after';
  readonly heals: boolean;
};

async function everyStep({ protocol, readonly, how, when, heals }: Options): Promise<void> {
  for (let step = 1; ; step++) {
    const bench = openFakeShares();
    const { host } = bench;
    const before = [...host.state.mounts];
    const request = shareRequest(bench, { ...bench[protocol]('v'), readonly });
    let agent = await startAgent(bench);
    host.failAt({ step, how, when });
    const failed = await failingOperation(agent, request);
    const hasReachedEnd = host.steps < step;
    host.failAt(undefined);
    if (how === 'crash') agent = await startAgent(bench);
    for (const operation of heals ? operations.slice(failed) : undo) await operation(agent, request);
    assert.deepEqual(host.state.mounts, before, `after a fault at step ${step}`);
    assert.equal(host.state.paths.get(request.targetPath), undefined);
    assert.deepEqual(await host.list(`${bench.directory}/state/volumes`), []);
    assert.deepEqual(host.state.formatted, []);
    if (hasReachedEnd) return;
  }
}

async function failingOperation(agent: Agent, request: Request): Promise<number> {
  for (const [index, operation] of operations.entries()) {
    try {
      await operation(agent, request);
    } catch {
      return index;
    }
  }
  return operations.length;
}

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

test('two nodes write one volume at the same time, and each keeps what the other wrote', real, async t => {
  const shared = openRealBench(t);
  const attachment = makeDirectoryVolume(shared, 'v');
  const nodes = await Promise.all(
    ['n1', 'n2'].map(async name => {
      const bench = openRealBench(t);
      const request = shareRequest(bench, { ...attachment, attachmentId: name });
      return { agent: await startAgent(bench), request };
    }),
  );
  for (const { agent, request } of nodes) {
    await stage(agent, request);
    await publish(agent, request);
  }
  const [first, second] = nodes;
  assert.ok(first && second);
  writeFileSync(`${first.request.targetPath}/one`, 'from n1');
  writeFileSync(`${second.request.targetPath}/two`, 'from n2');
  assert.equal(readFileSync(`${second.request.targetPath}/one`, 'utf8'), 'from n1');
  for (const operation of undo) await operation(first.agent, first.request);
  assert.equal(readFileSync(`${second.request.targetPath}/two`, 'utf8'), 'from n2');
  for (const operation of undo) await operation(second.agent, second.request);
  assert.equal(readFileSync(`${attachment.path}/one`, 'utf8'), 'from n1');
});

test(
  'a read-only publish, and a read-only attachment, keep a bound directory from being written',
  real,
  async t => {
    const bench = openRealBench(t);
    const agent = await startAgent(bench);
    const attachment = makeDirectoryVolume(bench, 'v');
    const rows = [
      { change: { readonly: true } },
      { change: { attachment: { ...attachment, readonly: true, attachmentId: 'a2' } } },
    ];
    for (const { change } of rows) {
      const request: Request = { ...shareRequest(bench, attachment), ...change };
      await stage(agent, request);
      await stage(agent, request);
      await publish(agent, request);
      assert.throws(() => writeFileSync(`${request.targetPath}/file`, ''), { code: 'EROFS' });
      const usage = await measure(agent, { volumeId: 'c.v', path: request.targetPath });
      assert.ok(usage.bytes.total > 0);
      for (const operation of undo) await operation(agent, request);
      assert.equal(existsSync(request.targetPath), false);
    }
  },
);

test('a volume is bound with its flags, and goes on after the agent started anew', real, async t => {
  const bench = openRealBench(t);
  const request = shareRequest(bench, makeDirectoryVolume(bench, 'v'));
  const flagged = { ...request, capability: { ...request.capability, mountFlags: ['noexec', 'nosuid'] } };
  await stage(await startAgent(bench), flagged);
  const agent = await startAgent(bench);
  await stage(agent, flagged);
  await publish(agent, flagged);
  const [options = []] = optionsAt(await bench.host.mounts(), request.targetPath);
  for (const flag of ['noexec', 'nosuid', 'rw']) assert.ok(options.includes(flag), flag);
  writeFileSync(`${request.targetPath}/file`, 'data');
  for (const operation of undo) await operation(agent, flagged);
});

function optionsAt(mounts: readonly Mount[], path: string): readonly (readonly string[])[] {
  return mounts.filter(mount => mount.path === path).map(({ options }) => options);
}
