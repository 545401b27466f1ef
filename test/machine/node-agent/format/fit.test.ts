import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { ext4 } from '../../../../node-agent/filesystems/ext4.ts';
import { xfs } from '../../../../node-agent/filesystems/xfs.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { examine } from '../../../../node-agent/volumes/health.ts';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { silentLog, type LogFields } from '../../../../src/lib/log.ts';
import type { FakeImage } from '../../../fakes/state.ts';
import {
  defaultImageBytes,
  measure,
  MiB,
  openFakeBench,
  openRealBench,
  openNode,
  real,
  withCommands,
  type Bench,
  type LoopRequest,
} from '../../../harness/node.ts';

const grownBytes = defaultImageBytes + 100 * MiB;

/** Opens a volume with a filesystem, and records the commands that are run for it. */
async function open<B extends Bench>(bench: B, fsType: string) {
  const opened = await openNode(bench, { image: { content: fsType }, capability: { fsType } });
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

  test(`the stage of a ${fsType} with a known correct size runs no additional command`, async () => {
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

/** Returns the agent with a recorded log, and the faults of its volume. */
function observed(agent: Agent) {
  const lines: string[] = [];
  const log = { ...silentLog, warn: (_: string, { detail = '' }: LogFields = {}) => void lines.push(detail) };
  const observedAgent = { ...agent, log };
  const readings = createReadings(observedAgent);
  const examineAt = ({ volumeId, stagingPath }: LoopRequest) =>
    examine(observedAgent, readings, { volumeId, stagingPath, publishPath: '' });
  return { agent: observedAgent, lines, examineAt };
}

const growers = { ext4: 'resize2fs', xfs: 'xfs_growfs', btrfs: 'btrfs' } as const;
for (const [fsType, grower] of Object.entries(growers))
  test(`a ${fsType} that does not grow is mounted at its old size, and is reported until it is grown`, async () => {
    const { agent, request, image, grow } = await openFake(fsType);
    grow();
    let tries = 0;
    const stderr = 'tool 1.47.0 (5-Feb-2023)\nthe reason\n';
    const failing = withCommands(agent, command =>
      command === grower && ++tries > 0 ? { status: 1, stderr } : undefined,
    );
    const { agent: noisy, lines, examineAt } = observed(failing);
    for (let times = 0; times < 2; times++) {
      await stage(noisy, request);
      assert.equal(image.filesystemBytes, defaultImageBytes);
      await unstage(noisy, request);
    }
    await stage(noisy, request);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', new RegExp(`^the ${fsType} of volume "c.v" may not fill .*: the reason$`));
    const [fault] = await examineAt(request);
    assert.partialDeepStrictEqual(fault, { status: 'DEGRADED', reason: 'NotGrown', message: lines[0] });
    const at = { volumeId: request.volumeId, path: request.stagingPath, requiredBytes: 0, limitBytes: 0 };
    await assert.rejects(expand(noisy, at), { detail: /: the reason$/ });
    // One attempt by the stage, which checks it before, and one while mounted.
    if (fsType === 'ext4') return assert.equal(tries, 2);
    await expand(agent, at);
    assert.equal(image.filesystemBytes, grownBytes);
    assert.deepEqual(await examineAt(request), []);
  });

test('an ext4 that a growth left with errors is checked before it is mounted', async () => {
  for (const damage of ['errors', 'lost'] as const) {
    const { agent, request, image, grow } = await openFake('ext4');
    grow();
    const commands: string[] = [];
    const failing = withCommands(agent, command => {
      commands.push(command);
      if (command !== 'resize2fs') return undefined;
      image.damage = damage;
      return { status: 1 };
    });
    const staged = stage(failing, request);
    if (damage === 'errors') await staged;
    else
      await assert.rejects(staged, { code: 'FAILED_PRECONDITION', detail: /is damaged and needs a repair/ });
    const after = commands.slice(commands.indexOf('resize2fs'));
    const refused = damage === 'lost' ? ['mount'] : [];
    assert.deepEqual(after.slice(0, 3 + refused.length), ['resize2fs', 'dumpe2fs', ...refused, 'e2fsck']);
  }
});

test('nothing is mounted while a killed growth may still write', async () => {
  for (const [fsType, grower] of Object.entries(growers)) {
    const { agent, request, grow } = await openFake(fsType);
    grow();
    const failing = withCommands(agent, command =>
      command === grower ? { status: undefined, timedOut: true } : undefined,
    );
    await assert.rejects(stage(failing, request), { code: 'DEADLINE_EXCEEDED' });
  }
});

test('a small full ext4 grows to 1 TiB and keeps its data', real(), async t => {
  const { bench, agent, request } = await openNode(t, {
    image: { sizeBytes: 64 * MiB },
    capability: { fsType: 'ext4' },
  });
  await stage(agent, request);
  const file = `${request.stagingPath}/file`;
  const data = randomBytes(40 * MiB);
  writeFileSync(file, data);
  await unstage(agent, request);
  bench.resizeImage(request.attachment.path, 1024 ** 2 * MiB);
  await stage(agent, request);
  assert.ok(readFileSync(file).equals(data));
  const { bytes } = await measure(agent, { volumeId: 'c.v', path: request.stagingPath });
  assert.ok(bytes.total > 0.95 * 1024 ** 2 * MiB, String(bytes.total));
  await unstage(agent, request);
  const checked = await bench.host.run('e2fsck', ['-f', '-n', '--', request.attachment.path]);
  assert.equal(checked.status, 0, checked.stdout);
});

test('an ext4 that cannot follow its volume is mounted at its old size with its data', real(), async t => {
  const {
    bench,
    agent: quiet,
    request,
  } = await openNode(t, {
    image: { sizeBytes: 64 * MiB },
  });
  // Like one of an older mke2fs: the descriptors of 1 TiB do not fit beside blocks of 1 KiB.
  execFileSync('mkfs.ext4', ['-q', '-b', '1024', request.attachment.path]);
  const { agent, lines } = observed(quiet);
  await stage(agent, request);
  writeFileSync(`${request.stagingPath}/file`, 'data');
  await unstage(agent, request);
  bench.resizeImage(request.attachment.path, 2 * 1024 ** 2 * MiB);
  await stage(agent, request);
  assert.equal(readFileSync(`${request.stagingPath}/file`, 'utf8'), 'data');
  assert.match(lines.join(), /too many block group descriptors/);
  await unstage(agent, request);
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

test('an ext4 is repaired before it is mounted if the kernel has noticed an error', real(), async t => {
  const { bench, agent, request, commands } = await open(openRealBench(t), 'ext4');
  execFileSync('debugfs', ['-w', '-R', 'ssv state 3', request.attachment.path], { stdio: 'ignore' });
  await stage(agent, request);
  assert.ok(commands.includes('e2fsck'), commands.join());
  const { stdout } = await bench.host.run('dumpe2fs', ['-h', '--', request.attachment.path]);
  assert.equal(ext4.unmounted?.readInspection(stdout)?.hasErrors, false);
  await unstage(agent, request);
});

test('an xfs with an unwritten log is not reported as damaged', real('mkfs.xfs', 'xfs_io'), async t => {
  const { bench, agent, request } = await open(openRealBench(t), 'xfs');
  await stage(agent, request);
  writeFileSync(`${request.stagingPath}/file`, 'data');
  const stop = ['-x', '-c', 'shutdown', request.stagingPath];
  assert.equal((await bench.host.run('xfs_io', stop)).status, 0);
  await unstage(agent, request);
  const capability = { ...request.capability, mountFlags: ['allocsize=1k'] };
  await assert.rejects(stage(agent, { ...request, capability }), { code: 'UNAVAILABLE', detail: /"mount/ });
  await stage(agent, request);
  await unstage(agent, request);
});

/** Commands that overwrite the structures of a filesystem and keep its superblock. */
const ruined = [
  { fsType: 'xfs', repair: 'xfs_repair', from: 4_096, bytes: 8 * 4_096 },
  { fsType: 'btrfs', repair: 'btrfs check', from: 20 * MiB, bytes: 80 * MiB },
] as const;

for (const { fsType, repair, from, bytes } of ruined) {
  test(
    `the error of a damaged ${fsType} names its repair, and the filesystem stays as it is`,
    real(`mkfs.${fsType}`),
    async t => {
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
    },
  );

  test(`a ${fsType} whose mount is refused is not reported as damaged if it is sound, or cannot be examined`, async () => {
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

for (const older of ['ext2', 'ext3'])
  for (const fsType of [older, 'ext4', undefined])
    test(
      `an ${older} is mounted and grown if ${fsType ?? 'no type'} is requested`,
      real(`mkfs.${older}`),
      async t => {
        const bench = openRealBench(t);
        const image = { sizeBytes: 64 * MiB, content: older };
        const { agent, request: made } = await openNode(bench, { image });
        const request = { ...made, capability: { ...made.capability, fsType } };
        await stage(agent, request);
        writeFileSync(`${request.stagingPath}/file`, 'data');
        await unstage(agent, request);
        bench.resizeImage(request.attachment.path, 128 * MiB);
        await stage(agent, request);
        const { bytes } = await measure(agent, { volumeId: 'c.v', path: request.stagingPath });
        assert.ok(bytes.total > 100 * MiB, String(bytes.total));
        assert.equal(readFileSync(`${request.stagingPath}/file`, 'utf8'), 'data');
        await unstage(agent, request);
      },
    );

test('ext3 is never made', async () => {
  const { agent, request } = await openNode(openFakeBench(), { capability: { fsType: 'ext3' } });
  const detail = 'the device is blank, and nodes do not make ext3: use ext4';
  await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail });
});

const choices = [
  { sizeBytes: 64 * MiB, chosen: 'ext4' },
  { sizeBytes: 400 * MiB, chosen: 'xfs' },
  { sizeBytes: 400 * MiB, mountFlags: ['data=ordered'], chosen: 'ext4' },
  { sizeBytes: 400 * MiB, formatOptions: { 'fs.nodeSize': '4096' }, chosen: 'btrfs' },
];
for (const { sizeBytes, mountFlags, formatOptions, chosen } of choices)
  test(`a node whose default is xfs makes ${chosen} of ${JSON.stringify({ sizeBytes, mountFlags, formatOptions })} if no type is requested`, async () => {
    const { bench, agent, request } = await openNode(openFakeBench(), { image: { sizeBytes } });
    const capability = { ...request.capability, fsType: undefined, mountFlags };
    await stage({ ...agent, defaultFilesystem: xfs }, { ...request, capability, formatOptions });
    assert.equal(bench.host.state.images.get(request.attachment.path)?.content, chosen);
  });
