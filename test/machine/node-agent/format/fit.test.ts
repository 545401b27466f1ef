import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import type { FakeImage } from '../../../fakes/state.ts';
import {
  defaultImageBytes,
  measure,
  MiB,
  openFakeBench,
  openRealBench,
  openVolume,
  real,
  startAgent,
  withCommands,
  type Bench,
} from '../../../harness/node-agent-bench.ts';

const grownBytes = defaultImageBytes + 100 * MiB;

/** A volume with a filesystem, and the commands that are run for it. */
async function open<B extends Bench>(bench: B, fsType: string) {
  const opened = await openVolume(bench, { image: { content: fsType }, capability: { fsType } });
  const commands: string[] = [];
  const agent = withCommands(opened.agent, command => void commands.push(command));
  return { ...opened, agent, commands };
}

async function openFake(fsType: string) {
  const opened = await open(openFakeBench(), fsType);
  const { path } = opened.request.attachment;
  const image: FakeImage = opened.bench.host.state.images.get(path) ?? assert.fail();
  return { ...opened, image, grow: () => opened.bench.resizeImage(path, grownBytes) };
}

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  test(`a ${fsType}, its clone and larger restore are mounted together`, real(`mkfs.${fsType}`), async t => {
    const { bench, agent, request } = await open(openRealBench(t), fsType);
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
        await unstage(agent, request);
        t.skip('this kernel does not mount two copies of a btrfs');
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
  });

  test(`a ${fsType} that was expanded while unstaged is grown at the next stage`, async () => {
    const { agent, request, image, grow } = await openFake(fsType);
    await stage(agent, request);
    await unstage(agent, request);
    grow();
    await stage(agent, request);
    assert.equal(image.filesystemBytes, grownBytes);
  });

  test(`the stage of a ${fsType} that was seen to be right costs no command more`, async () => {
    for (const tellsEnd of [true, false]) {
      const { bench, agent, request, commands } = await openFake(fsType);
      bench.host.state.tellsEnd = tellsEnd;
      await stage(agent, request);
      await unstage(agent, request);
      commands.length = 0;
      await stage(agent, request);
      assert.deepEqual(commands, ['blkid', 'losetup', 'mount']);
    }
  });

  test(`a ${fsType} on a read-only attachment is not grown`, async () => {
    const { agent, request, image, grow } = await openFake(fsType);
    grow();
    await stage(agent, { ...request, attachment: { ...request.attachment, readonly: true } });
    assert.equal(image.filesystemBytes, defaultImageBytes);
  });
}

for (const isRestarted of [false, true])
  test(`growth that failed after the mount is made up for by the retry${isRestarted ? ' of another agent' : ''}`, async () => {
    const { bench, agent, request, image, grow } = await openFake('xfs');
    grow();
    const failing = withCommands(agent, command => (command === 'xfs_growfs' ? { status: 1 } : undefined));
    await assert.rejects(stage(failing, request), { code: 'UNAVAILABLE' });
    assert.equal(image.filesystemBytes, defaultImageBytes);
    await stage(isRestarted ? await startAgent(bench) : agent, request);
    assert.equal(image.filesystemBytes, grownBytes);
  });

const connected = ['blkid', 'losetup', 'dumpe2fs'];
const damages = {
  errors: { outcome: 'OK', runs: [...connected, 'e2fsck', 'mount'] },
  broken: { outcome: 'OK', runs: [...connected, 'mount', 'e2fsck', 'mount'] },
  lost: { outcome: 'FAILED_PRECONDITION', runs: [...connected, 'mount', 'e2fsck'] },
} as const;

for (const [damage, { outcome, runs }] of Object.entries(damages))
  test(`the stage of an ext4 with the damage "${damage}" is ${outcome}`, async () => {
    const { bench, agent, request, image, commands } = await openFake('ext4');
    image.damage = damage as keyof typeof damages;
    const staged = stage(agent, request);
    if (outcome === 'OK') await staged;
    else
      await assert.rejects(staged, { code: outcome, detail: /volume "c.v" is damaged and needs a repair/ });
    assert.deepEqual(commands.slice(0, runs.length), runs);
    assert.deepEqual(bench.host.state.formatted, []);
  });

test('an ext4 whose kernel noticed an error is mended before it is mounted', real(), async t => {
  const { bench, agent, request, commands } = await open(openRealBench(t), 'ext4');
  execFileSync('debugfs', ['-w', '-R', 'ssv state 3', request.attachment.path], { stdio: 'ignore' });
  await stage(agent, request);
  assert.ok(commands.includes('e2fsck'), commands.join());
  const { stdout } = await bench.host.run('dumpe2fs', ['-h', '--', request.attachment.path]);
  assert.equal(ext4.unmounted?.readInspection(stdout)?.hasErrors, false);
  await unstage(agent, request);
});

test('an xfs with an unwritten log is not called damaged', real('mkfs.xfs', 'xfs_io'), async t => {
  const { bench, agent, request } = await open(openRealBench(t), 'xfs');
  await stage(agent, request);
  writeFileSync(`${request.stagingPath}/file`, 'data');
  const stop = ['-x', '-c', 'shutdown', request.stagingPath];
  assert.equal((await bench.host.run('xfs_io', stop)).status, 0);
  await unstage(agent, request);
  const capability = { ...request.capability, mountFlags: ['logbsize=12345'] };
  await assert.rejects(stage(agent, { ...request, capability }), { code: 'UNAVAILABLE', detail: /"mount/ });
  await stage(agent, request);
  await unstage(agent, request);
});

/** Puts something else in place of what the filesystem is built on, and leaves its superblock as it is. */
const ruined = [
  { fsType: 'xfs', repair: 'xfs_repair', from: 4_096, bytes: 8 * 4_096 },
  { fsType: 'btrfs', repair: 'btrfs check', from: 20 * MiB, bytes: 80 * MiB },
] as const;

for (const { fsType, repair, from, bytes } of ruined) {
  test(`a damaged ${fsType} names its repair and stays as it is`, real(`mkfs.${fsType}`), async t => {
    const { agent, request } = await open(openRealBench(t), fsType);
    const { path } = request.attachment;
    const file = openSync(path, 'r+');
    const ruins = randomBytes(bytes);
    writeSync(file, ruins, 0, bytes, from);
    closeSync(file);
    const detail = new RegExp(
      `^the ${fsType} of volume "c.v" is damaged and needs a repair by hand .*${repair}`,
    );
    for (let tries = 0; tries < 2; tries++)
      await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail });
    const after = readFileSync(path).subarray(from, from + bytes);
    assert.ok(after.equals(ruins));
    await unstage(agent, request);
  });

  test(`a ${fsType} whose mount is refused is not called damaged when it is sound, or cannot be looked at`, async () => {
    const { agent, request } = await openFake(fsType);
    const looker = fsType === 'xfs' ? 'xfs_repair' : 'btrfs';
    const rows: readonly (readonly [answers: Record<string, Partial<ExecResult>>, detail: RegExp])[] = [
      [{}, /"mount/],
      [{ [looker]: { timedOut: true } }, /"mount/],
      [{ [looker]: { fault: 'ENOENT' } }, /"mount/],
      [{ [looker]: { status: 1 }, dd: { status: 1 } }, /"dd/],
    ];
    for (const [answers, detail] of rows) {
      const refusing = withCommands(agent, command =>
        command === 'mount' ? { status: 32 } : answers[command],
      );
      await assert.rejects(stage(refusing, request), { code: 'UNAVAILABLE', detail });
    }
    await stage(agent, request);
  });
}
