import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import type { Host } from '../../../../node-agent/host.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import type { FakeImage } from '../../../fakes/host.ts';
import {
  defaultImageBytes,
  findMissing,
  measure,
  MiB,
  openFakeBench,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
  type Bench,
} from '../../../harness/node-agent-bench.ts';

const grownBytes = defaultImageBytes + 100 * MiB;

async function open(bench: Bench, fsType: string) {
  const made = requestFor(bench, bench.makeImage('image', { content: fsType }));
  const agent = await startAgent(bench);
  const commands: string[] = [];
  const host = {
    ...bench.host,
    run: (...call: Parameters<typeof bench.host.run>) => {
      commands.push(call[0]);
      return bench.host.run(...call);
    },
  };
  const request = { ...made, capability: { ...made.capability, fsType } };
  return { agent: { ...agent, host }, request, commands };
}

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  const skip = whyNoMachine ?? findMissing([`mkfs.${fsType}`]);

  test(
    `source, clone and larger restore of one ${fsType} are mounted together, each as large as its device`,
    skip ? { skip } : {},
    async t => {
      const bench = openRealBench(t);
      const { agent, request } = await open(bench, fsType);
      await stage(agent, request);
      writeFileSync(`${request.stagingPath}/file`, 'data');
      await unstage(agent, request);
      const clonePath = bench.copyImage(request.attachment.path);
      const restorePath = bench.copyImage(clonePath);
      bench.resizeImage(restorePath, grownBytes);
      const toCopy = (path: string, name: string) => ({
        ...request,
        volumeId: `c.${name}`,
        stagingPath: `${request.stagingPath}-${name}`,
        attachment: { ...request.attachment, path, mayFormat: false },
      });
      const others = [toCopy(clonePath, 'clone'), toCopy(restorePath, 'restore')];
      await stage(agent, request);
      const sizes: number[] = [];
      for (const other of others) {
        const refusal = await stage(agent, other).catch((error: Error) => error);
        if (refusal) {
          assert.equal(fsType, 'btrfs', refusal.message);
          assert.match(refusal.message, /this kernel does not mount both/);
          t.diagnostic(refusal.message);
          await unstage(agent, request);
          return;
        }
        assert.equal(readFileSync(`${other.stagingPath}/file`, 'utf8'), 'data');
        sizes.push((await measure(agent, { volumeId: other.volumeId, path: other.stagingPath })).bytes.total);
      }
      assert.ok((sizes[1] ?? 0) - (sizes[0] ?? 0) >= 90 * MiB, sizes.join());
      for (const volume of [request, ...others]) await unstage(agent, volume);
      await stage(agent, request);
      assert.equal(readFileSync(`${request.stagingPath}/file`, 'utf8'), 'data');
      await unstage(agent, request);
    },
  );

  test(`a ${fsType} that was expanded while unstaged is grown at the next stage`, async () => {
    const bench = openFakeBench();
    const { agent, request } = await open(bench, fsType);
    await stage(agent, request);
    await unstage(agent, request);
    bench.resizeImage(request.attachment.path, grownBytes);
    await stage(agent, request);
    assert.equal(bench.host.state.images.get(request.attachment.path)?.filesystemBytes, grownBytes);
    await unstage(agent, request);
  });

  test(`the stage of a ${fsType} that was seen to be right costs no command more`, async () => {
    for (const tellsEnd of [true, false]) {
      const bench = openFakeBench();
      bench.host.state.tellsEnd = tellsEnd;
      const { agent, request, commands } = await open(bench, fsType);
      await stage(agent, request);
      await unstage(agent, request);
      commands.length = 0;
      await stage(agent, request);
      assert.deepEqual(commands, ['losetup', 'blkid', 'mount']);
      await unstage(agent, request);
    }
  });

  test(`a ${fsType} on a read-only attachment is not grown`, async () => {
    const bench = openFakeBench();
    const { agent, request } = await open(bench, fsType);
    bench.resizeImage(request.attachment.path, grownBytes);
    await stage(agent, { ...request, attachment: { ...request.attachment, readonly: true } });
    assert.equal(bench.host.state.images.get(request.attachment.path)?.filesystemBytes, defaultImageBytes);
  });
}

test('growth that failed after the mount is made up for by the retry', async () => {
  for (const restart of [false, true]) {
    const bench = openFakeBench();
    const { agent, request } = await open(bench, 'xfs');
    bench.resizeImage(request.attachment.path, grownBytes);
    bench.host.state.missing.add('xfs_growfs');
    const image = bench.host.state.images.get(request.attachment.path);
    const host = {
      ...agent.host,
      run: async (command: string, args: readonly string[]) =>
        command === 'xfs_growfs'
          ? { status: 1, stdout: '', stderr: '', timedOut: false, missing: false }
          : bench.host.run(command, args),
    };
    await assert.rejects(stage({ ...agent, host }, request), { code: 'UNAVAILABLE' });
    assert.equal(image?.filesystemBytes, defaultImageBytes);
    bench.host.state.missing.clear();
    await stage(restart ? await startAgent(bench) : agent, request);
    assert.equal(image?.filesystemBytes, grownBytes);
  }
});

const damages: readonly { damage: FakeImage['damage'] & string; outcome: string; runs: readonly string[] }[] =
  [
    { damage: 'errors', outcome: 'OK', runs: ['losetup', 'blkid', 'dumpe2fs', 'e2fsck', 'mount'] },
    { damage: 'broken', outcome: 'OK', runs: ['losetup', 'blkid', 'dumpe2fs', 'mount', 'e2fsck', 'mount'] },
    {
      damage: 'lost',
      outcome: 'FAILED_PRECONDITION',
      runs: ['losetup', 'blkid', 'dumpe2fs', 'mount', 'e2fsck'],
    },
  ];

for (const { damage, outcome, runs } of damages) {
  test(`the stage of an ext4 with the damage "${damage}" is ${outcome}`, async () => {
    const bench = openFakeBench();
    const { agent, request, commands } = await open(bench, 'ext4');
    const image = bench.host.state.images.get(request.attachment.path);
    assert.ok(image);
    image.damage = damage;
    const staged = stage(agent, request);
    if (outcome === 'OK') await staged;
    else
      await assert.rejects(staged, { code: outcome, detail: /volume "c.v" is damaged and needs a repair/ });
    assert.deepEqual(commands.slice(0, runs.length), runs);
    assert.deepEqual(bench.host.state.formatted, []);
  });
}

test(
  'an ext4 whose kernel noticed an error is mended before it is mounted',
  whyNoMachine ? { skip: whyNoMachine } : {},
  async t => {
    const bench = openRealBench(t);
    const { agent, request, commands } = await open(bench, 'ext4');
    execFileSync('debugfs', ['-w', '-R', 'ssv state 3', request.attachment.path], { stdio: 'ignore' });
    await stage(agent, request);
    assert.ok(commands.includes('e2fsck'), commands.join());
    const { stdout } = await bench.host.run('dumpe2fs', ['-h', '--', request.attachment.path]);
    assert.equal(ext4.unmounted?.readInspection(stdout)?.hasErrors, false);
    await unstage(agent, request);
  },
);

const whyNoXfs = whyNoMachine ?? findMissing(['mkfs.xfs', 'xfs_io']);
test(
  'an xfs whose log was not written back is not called damaged when its mount is refused for another reason',
  whyNoXfs ? { skip: whyNoXfs } : {},
  async t => {
    const bench = openRealBench(t);
    const { agent, request } = await open(bench, 'xfs');
    await stage(agent, request);
    writeFileSync(join(request.stagingPath, 'file'), 'data');
    const stop = ['-x', '-c', 'shutdown', request.stagingPath];
    assert.equal((await bench.host.run('xfs_io', stop)).status, 0);
    await unstage(agent, request);
    const capability = { ...request.capability, mountFlags: ['logbsize=12345'] };
    await assert.rejects(stage(agent, { ...request, capability }), { code: 'UNAVAILABLE', detail: /"mount/ });
    await stage(agent, request);
    await unstage(agent, request);
  },
);

/** Puts something else in place of what the filesystem is built on, and leaves its superblock as it is. */
const ruined = [
  { fsType: 'xfs', repair: 'xfs_repair', from: 4_096, bytes: 8 * 4_096 },
  { fsType: 'btrfs', repair: 'btrfs check', from: 20 * MiB, bytes: 80 * MiB },
] as const;

for (const { fsType, repair, from, bytes } of ruined) {
  const skip = whyNoMachine ?? findMissing([`mkfs.${fsType}`]);
  test(
    `a damaged ${fsType} is FAILED_PRECONDITION, names its repair, and stays as it is`,
    skip ? { skip } : {},
    async t => {
      const bench = openRealBench(t);
      const { agent, request } = await open(bench, fsType);
      const { path } = request.attachment;
      const file = openSync(path, 'r+');
      const ruins = randomBytes(bytes);
      writeSync(file, ruins, 0, bytes, from);
      closeSync(file);
      for (let tries = 0; tries < 2; tries++)
        await assert.rejects(stage(agent, request), {
          code: 'FAILED_PRECONDITION',
          detail: new RegExp(
            `^the ${fsType} of volume "c.v" is damaged and needs a repair by hand .*${repair}`,
          ),
        });
      assert.ok(
        readFileSync(path)
          .subarray(from, from + bytes)
          .equals(ruins),
      );
      await unstage(agent, request);
    },
  );

  test(`a sound ${fsType} whose mount is refused stays UNAVAILABLE`, async () => {
    const { agent, request, answers } = await openRefused(fsType);
    await assert.rejects(stage(agent, request), { code: 'UNAVAILABLE', detail: /"mount/ });
    answers.delete('mount');
    await stage(agent, request);
  });

  test(`a ${fsType} that cannot be looked at, or whose device does not read, is not called damaged`, async () => {
    const { agent, request, answers, looker } = await openRefused(fsType);
    answers.set(looker, { timedOut: true });
    await assert.rejects(stage(agent, request), { code: 'UNAVAILABLE', detail: /"mount/ });
    answers.set(looker, { missing: true });
    await assert.rejects(stage(agent, request), { code: 'UNAVAILABLE', detail: /"mount/ });
    answers.set(looker, { status: 1 }).set('dd', { status: 1 });
    await assert.rejects(stage(agent, request), { code: 'UNAVAILABLE', detail: /"dd/ });
  });
}

/** A volume whose mount is refused, and commands that answer what they are told to. */
async function openRefused(fsType: string) {
  const bench = openFakeBench();
  const { agent, request } = await open(bench, fsType);
  const answers = new Map<string, Partial<ExecResult>>([['mount', { status: 32 }]]);
  const ended = { status: undefined, stdout: '', stderr: '', timedOut: false, missing: false };
  const run: Host['run'] = async (command, ...rest) => {
    const answer = answers.get(command);
    return answer ? { ...ended, ...answer } : bench.host.run(command, ...rest);
  };
  const looker = fsType === 'xfs' ? 'xfs_repair' : 'btrfs';
  return { agent: { ...agent, host: { ...agent.host, run } }, request, answers, looker };
}
