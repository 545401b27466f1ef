import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mappedNameOf } from '../../../../node-agent/format/mapping.ts';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { headerBytes } from '../../../fakes/tools/cryptsetup.ts';
import {
  block,
  defaultImageBytes,
  openFakeBench,
  openNode,
  otherVolume,
  startAgent,
  withCommands,
  type VolumeChange,
} from '../../../harness/node.ts';
import { openFakeShares, shareRequest } from '../../../harness/node/shares.ts';

const luks = { encryption: 'luks' } as const;
const secrets = { 'encryption-passphrase': 'canary' };
const rotating = { 'encryption-passphrase': 'canary-new', 'encryption-passphrase-previous': 'canary' };

/** Opens a node with a volume to encrypt, and records every command. */
async function open({ attachment, ...change }: VolumeChange = {}) {
  const bench = openFakeBench();
  const opened = await openNode(bench, { ...change, attachment: { ...luks, ...attachment } });
  const { state } = bench.host;
  const lines: string[] = [];
  const run: typeof bench.host.run = (command, args, options) => {
    lines.push([command, ...args].join(' '));
    return bench.host.run(command, args, options);
  };
  const agent = { ...opened.agent, host: { ...bench.host, run } };
  const image = state.images.get(opened.request.attachment.path) ?? assert.fail();
  const assertClean = (): void => {
    const { mounts, loops, mappings } = state;
    assert.deepEqual(
      { mounts, loops: loops.size, mappings: mappings.size },
      { mounts: [], loops: 0, mappings: 0 },
    );
    assert.deepEqual([...state.texts.keys()], []);
  };
  return { ...opened, agent, state, image, lines, assertClean };
}

/** Opens a volume that was staged with a passphrase and has data. */
async function openStaged(change: VolumeChange = {}) {
  const world = await open(change);
  const { agent, request, image } = world;
  await stage(agent, request, secrets);
  await unstage(agent, request);
  const inside = image.inside ?? assert.fail();
  inside.data = 'precious';
  world.state.formatted.length = 0;
  return world;
}

test('a blank device is encrypted, and the filesystem is made on the decrypted device', async () => {
  const { agent, request, image, state, assertClean } = await open();
  await stage(agent, request, secrets);
  assert.deepEqual([image.content, image.inside?.content], ['crypto_LUKS', 'ext4']);
  assert.deepEqual(
    state.mounts.map(({ source, device }) => [source, device]),
    [['/dev/dm-0', '254:0']],
  );
  await stage(agent, request, secrets);
  await publish(agent, request);
  await unpublish(agent, request);
  await unstage(agent, request);
  assertClean();
});

test('a stage that failed after the device was decrypted continues, unless the machine uses the decrypted device', async () => {
  for (const isUsed of [false, true]) {
    const { agent, request, bench, state } = await open();
    const failing = withCommands(agent, command =>
      command === 'mkfs.ext4' ? { fault: 'EMFILE' } : undefined,
    );
    await assert.rejects(stage(failing, request, secrets), { code: 'UNAVAILABLE' });
    assert.equal(state.mappings.size, 1);
    const restarted = await startAgent(bench);
    const readText: typeof bench.host.readText = async path =>
      isUsed && path === '/proc/swaps' ? 'Filename\n/dev/dm-0 partition\n' : bench.host.readText(path);
    const stageAgain = () => stage({ ...restarted, host: { ...restarted.host, readText } }, request, secrets);
    if (isUsed)
      await assert.rejects(stageAgain, { code: 'FAILED_PRECONDITION', detail: /is in use by swap/ });
    else await stageAgain();
  }
});

test('the passphrase is in no argument, no record and no error', async () => {
  const { agent, request, lines, state } = await open();
  await stage(agent, request, secrets);
  await unstage(agent, request);
  await stage(agent, request, rotating);
  const recorded = [...state.texts.values()];
  await unstage(agent, request);
  const error = await stage(agent, request, secrets).catch((fault: unknown) => String(fault));
  assert.match(String(error), /passphrase does not unlock/);
  assert.doesNotMatch([...lines, ...recorded, error].join('\n'), /canary/);
  assert.ok(lines.some(line => /^cryptsetup open .*--allow-discards/.test(line)));
});

test('a wrong passphrase is UNAUTHENTICATED, a missing one INVALID_ARGUMENT, and nothing is changed or left', async () => {
  for (const [given, code] of [
    [{ 'encryption-passphrase': 'wrong' }, 'UNAUTHENTICATED'],
    [{ ...rotating, 'encryption-passphrase-previous': 'wrong' }, 'UNAUTHENTICATED'],
    [{}, 'INVALID_ARGUMENT'],
    [{ 'encryption-passphrase': '' }, 'INVALID_ARGUMENT'],
    [{ 'encryption-passphrase-previous': 'canary' }, 'INVALID_ARGUMENT'],
    [{ ...secrets, 'encryption-passphrase-previous': 'canary' }, 'INVALID_ARGUMENT'],
  ] as const) {
    const { agent, request, image, state, assertClean } = await openStaged();
    await assert.rejects(stage(agent, request, given), { code });
    assert.deepEqual([...(image.keys ?? [])], ['canary']);
    assert.deepEqual(state.formatted, []);
    assertClean();
  }
});

for (const content of ['ext4', 'xfs', 'garbage', 'swap', 'gpt'])
  test(`a device with ${content} is neither encrypted nor used as it is`, async () => {
    for (const capability of [{}, block]) {
      const { agent, request, state, assertClean } = await open({ image: { content }, capability });
      await assert.rejects(stage(agent, request, secrets), { code: 'FAILED_PRECONDITION' });
      assert.deepEqual(state.formatted, []);
      assertClean();
    }
  });

test('an encrypted device is not mounted as it is, and no filesystem is made over it', async () => {
  const { agent, request, state, assertClean } = await openStaged();
  const { encryption: _, ...attachment } = request.attachment;
  const plain = { ...request, attachment };
  await assert.rejects(stage(agent, plain), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(state.formatted, []);
  assertClean();
  await assert.rejects(stage(agent, plain, secrets), {
    code: 'INVALID_ARGUMENT',
    detail:
      'secret "encryption-passphrase" is given, but the volume is not encrypted; remove the secret, or encrypt the volume',
  });
});

test('an encrypted device without a filesystem never counts as blank', async () => {
  const { agent, request, image, state, assertClean } = await openStaged();
  assert.ok(image.inside);
  image.inside.content = 'noise';
  await assert.rejects(stage(agent, request, secrets), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(state.formatted, []);
  assertClean();
});

test('a copy is opened with the passphrase of its source, and never encrypted anew', async () => {
  const { agent, request, image } = await openStaged();
  const attachment = { ...request.attachment, mayFormat: false };
  await stage(agent, { ...request, attachment }, secrets);
  assert.equal(image.inside?.data, 'precious');
  await unstage(agent, request);
  const blank = await open({ attachment: { mayFormat: false } });
  await assert.rejects(stage(blank.agent, blank.request, secrets), { code: 'FAILED_PRECONDITION' });
  blank.assertClean();
});

test('the previous passphrase is replaced, even if the agent ends at any step', async () => {
  for (let step = 1; ; step++) {
    const { bench, request, image } = await openStaged();
    const before = await startAgent(bench);
    bench.host.failAt({ step, when: 'after', how: 'crash' });
    await stage(before, request, rotating).catch(() => {});
    const isPast = bench.host.steps < step;
    bench.host.failAt(undefined);
    const agent = await startAgent(bench);
    await stage(agent, request, rotating);
    await unstage(agent, request);
    await stage(agent, request, rotating);
    await unstage(agent, request);
    assert.deepEqual([...(image.keys ?? [])], ['canary-new'], `after a crash at step ${step}`);
    assert.equal(image.inside?.data, 'precious');
    await assert.rejects(stage(agent, request, secrets), { code: 'UNAUTHENTICATED' });
    if (isPast) return;
  }
});

test('a read-only device keeps its passphrase, and either one unlocks it', async () => {
  const { agent, request, image, state } = await openStaged();
  const attachment = { ...request.attachment, readonly: true };
  await stage(agent, { ...request, attachment }, rotating);
  assert.ok(state.mappings.get(0)?.isReadonly);
  assert.deepEqual([...(image.keys ?? [])], ['canary']);
});

test('an expansion reaches the decrypted device, even of a volume that was not staged', async () => {
  for (const capability of [{ fsType: 'xfs' }, block]) {
    const { bench, agent, request, image } = await open({ capability });
    await stage(agent, request, secrets);
    await publish(agent, request);
    const { volumeId, attachment, targetPath: path } = request;
    bench.resizeImage(attachment.path, 2 * defaultImageBytes);
    const asked = { volumeId, path, requiredBytes: 2 * defaultImageBytes, limitBytes: 0 };
    assert.equal(await expand(agent, asked), 2 * defaultImageBytes);
    assert.equal(image.inside?.sizeBytes, 2 * defaultImageBytes - headerBytes);
    await unpublish(agent, request);
    await unstage(agent, request);
    bench.resizeImage(attachment.path, 3 * defaultImageBytes);
    await stage(agent, request, secrets);
    assert.equal(image.inside?.sizeBytes, 3 * defaultImageBytes - headerBytes);
    assert.equal(image.inside?.filesystemBytes ?? image.inside?.sizeBytes, image.inside?.sizeBytes);
  }
});

test('an open volume needs no secrets, even after the agent restarted', async () => {
  const { bench, agent, request } = await open({ capability: block });
  await stage(agent, request, secrets);
  const next = await startAgent(bench);
  await stage(next, request);
  await publish(next, request);
  assert.equal(bench.host.state.mounts[0]?.root, '/dm-0');
  await unpublish(next, request);
  await unstage(next, request);
});

test('after a reboot the volume is opened anew, and taken down if only its record is left', async () => {
  const { bench, agent, request, state } = await open();
  await stage(agent, request, secrets);
  state.mounts.length = 0;
  state.loops.clear();
  state.mappings.clear();
  for (const path of state.texts.keys()) if (path.startsWith('/sys/')) state.texts.delete(path);
  for (const path of state.paths.keys()) if (path.startsWith('/sys/')) state.paths.delete(path);
  await stage(await startAgent(bench), request, secrets);
  assert.equal(state.mappings.size, 1);
  await unstage(await startAgent(bench), request);
  assert.equal(state.mappings.size, 0);
});

test('a device of that name that cryptsetup did not make is left alone', async () => {
  const { agent, request, state, lines } = await open();
  const foreign = '/sys/block/dm-7';
  state.paths.set(foreign, 'directory');
  state.texts.set(`${foreign}/dm/name`, `${mappedNameOf(request.attachment)}\n`);
  state.texts.set(`${foreign}/dm/uuid`, 'LVM-abc\n');
  await stage(agent, request, secrets);
  await unstage(agent, request);
  assert.equal(state.mappings.size, 0);
  assert.equal(lines.filter(line => line.startsWith('dmsetup remove')).length, 1);
});

test("one device under two names is recognized below its decryption as two volumes' device", async () => {
  const { bench, agent, request } = await open();
  await stage(agent, request, secrets);
  const other = otherVolume(bench, request);
  const { path } = request.attachment;
  await assert.rejects(stage(agent, { ...other, attachment: { ...request.attachment, path } }, secrets), {
    code: 'FAILED_PRECONDITION',
  });
  await unstage(agent, request);
});

test('shares, and volumes that several nodes write, are not encrypted', async () => {
  const accessMode = 'MULTI_NODE_MULTI_WRITER';
  const { agent, request, assertClean } = await open({ capability: { ...block, accessMode } });
  await assert.rejects(stage(agent, request, secrets), { code: 'INVALID_ARGUMENT' });
  assertClean();
  const shares = openFakeShares();
  const shared = shareRequest(shares, { ...shares.nfs('v'), ...luks });
  await assert.rejects(stage(await startAgent(shares), shared, secrets), { code: 'INVALID_ARGUMENT' });
});

test('a node without cryptsetup says so, and leaves the device as it is', async () => {
  const { agent, request, image, state } = await open();
  state.missing.add('cryptsetup');
  await assert.rejects(stage(agent, request, secrets), {
    code: 'FAILED_PRECONDITION',
    detail: '"cryptsetup" is not installed on this node',
  });
  assert.equal(image.content, 'blank');
});
