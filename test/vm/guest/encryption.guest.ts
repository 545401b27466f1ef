import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { mappedNameOf } from '../../../node-agent/format/mapping.ts';
import type { Host } from '../../../node-agent/host.ts';
import { stage, unstage } from '../../../node-agent/volumes/stage.ts';
import { openRealBench, requestFor, startAgent } from '../../harness/node-agent-bench.ts';
import { filesWith, host, MiB, startGuestNode, writer } from './agent.ts';
import { attachmentTo, openBus, openStores, resizeStore, type Store } from '../targets/scsi-target.ts';

const luks = { encryption: 'luks' } as const;
const secrets = { 'encryption-passphrase': 'correct horse battery staple' };
const rotating = {
  'encryption-passphrase': 'a new one, with "quotes" and a\nline',
  'encryption-passphrase-previous': secrets['encryption-passphrase'],
};
const word = 'plain-canary';
const xfs = { ...writer, mount: { fs_type: 'xfs' } };
const block = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;

/** A node with a disk on its bus, and a volume on that which is to be encrypted. */
async function open(t: TestContext, { name = 'vol1', sizeBytes = 64 * MiB, capability = writer } = {}) {
  const store = openStores(t)(name, sizeBytes);
  // Discards are taken.
  writeFileSync(`${store.home}/attrib/emulate_tpu`, '1');
  const bus = openBus(t);
  const node = await startGuestNode(t);
  bus.addUnit(0, store);
  const attachment = { ...attachmentTo(store), ...luks };
  const fields = { ...node.volumeAt({ name, attachment, capability }), secrets };
  return { store, bus, node, attachment, fields };
}

/** What there is of device-mapper on this machine. */
function mappings(): readonly string[] {
  return readdirSync('/sys/block').filter(name => name.startsWith('dm-'));
}

/** Copies bytes as `dd` does. */
function bytes(args: readonly string[], input?: string): Buffer {
  return execFileSync('dd', ['status=none', ...args], { input });
}

/** The header of a store, which holds its keys, as a hash. */
function headerOf({ path }: Store): string {
  const data = Buffer.alloc(16 * MiB);
  const file = openSync(path, 'r');
  readSync(file, data, 0, data.length, 0);
  closeSync(file);
  return createHash('sha256').update(data).digest('hex');
}

for (const [capability, sizeBytes] of [
  [writer, 64 * MiB],
  [xfs, 384 * MiB],
] as const)
  test(`an ${capability.mount?.fs_type} is encrypted, grows while it is used, and is found at another place`, async t => {
    const { store, bus, node, fields } = await open(t, { sizeBytes, capability });
    await node.bringUp(fields);
    node.write(fields, word);
    resizeStore(store, sizeBytes + 128 * MiB);
    await node.expand(fields, sizeBytes + 128 * MiB);
    const { blocks, bsize } = statfsSync(fields.target_path);
    assert.ok(blocks * bsize > 0.7 * (sizeBytes + 128 * MiB), `${blocks * bsize} bytes`);
    execFileSync('fstrim', ['--', fields.target_path]);
    await node.takeDown(fields);
    assert.deepEqual(mappings(), []);
    bus.dropUnit(0);
    bus.addUnit(3, store);
    await node.bringUp(fields);
    assert.equal(node.read(fields), word);
    const said = filesWith(secrets['encryption-passphrase'], node.bench.directory, '/run', '/dev/shm');
    assert.deepEqual(said, []);
    await node.takeDown(fields);
    assert.equal(spawnSync('grep', ['--quiet', word, store.path]).status, 1);
    assert.deepEqual(mappings(), []);
  });

test('a block volume is encrypted, and has its bytes again', async t => {
  const { store, bus, node, fields } = await open(t, { capability: block });
  await node.bringUp(fields);
  bytes([`of=${fields.target_path}`, 'conv=notrunc,fsync', 'bs=4096', 'seek=7'], word.padEnd(4096));
  resizeStore(store, 128 * MiB);
  await node.expand(fields, 128 * MiB);
  const size = execFileSync('blockdev', ['--getsize64', fields.target_path], { encoding: 'utf8' });
  assert.equal(Number(size), 112 * MiB);
  await node.takeDown(fields);
  bus.dropUnit(0);
  bus.addUnit(2, store);
  await node.bringUp(fields);
  const found = bytes([`if=${fields.target_path}`, 'bs=4096', 'skip=7', 'count=1']).toString();
  assert.equal(found.trim(), word);
  await node.takeDown(fields);
  assert.equal(spawnSync('grep', ['--quiet', word, store.path]).status, 1);
  assert.deepEqual(mappings(), []);
});

test('a wrong passphrase changes nothing, and the right one is replaced without a way back', async t => {
  const { store, node, fields } = await open(t);
  await node.bringUp(fields);
  node.write(fields, word);
  await node.takeDown(fields);
  const header = headerOf(store);
  for (const [given, code] of [
    [{ 'encryption-passphrase': `${secrets['encryption-passphrase']}\n` }, 'UNAUTHENTICATED'],
    [{ 'encryption-passphrase': 'x', 'encryption-passphrase-previous': 'y' }, 'UNAUTHENTICATED'],
    [{}, 'INVALID_ARGUMENT'],
  ] as const) {
    await assert.rejects(node.client.node.NodeStageVolume({ ...fields, secrets: given }), { code });
    assert.deepEqual(mappings(), []);
  }
  assert.equal(headerOf(store), header);
  for (const given of [rotating, rotating, { 'encryption-passphrase': rotating['encryption-passphrase'] }]) {
    await node.bringUp({ ...fields, secrets: given });
    assert.equal(node.read(fields), word);
    await node.takeDown(fields);
  }
  await assert.rejects(node.client.node.NodeStageVolume(fields), { code: 'UNAUTHENTICATED' });
});

test('what holds plain data is not encrypted, and what is encrypted is not mounted as it is', async t => {
  const { store, node, attachment, fields } = await open(t);
  const { encryption: _, ...plain } = attachment;
  const asPlain = node.volumeAt({ name: 'vol1', attachment: { ...plain, attachmentId: 'plain' } });
  await node.bringUp(asPlain);
  node.write(asPlain);
  await node.takeDown(asPlain);
  const header = headerOf(store);
  await assert.rejects(node.client.node.NodeStageVolume(fields), { code: 'FAILED_PRECONDITION' });
  assert.equal(headerOf(store), header);
  execFileSync('dd', [
    'if=/dev/zero',
    `of=${store.path}`,
    'bs=1M',
    'count=64',
    'conv=notrunc',
    'status=none',
  ]);
  await node.bringUp(fields);
  await node.takeDown(fields);
  await assert.rejects(node.client.node.NodeStageVolume(asPlain), {
    code: 'FAILED_PRECONDITION',
    detail: /holds crypto_LUKS, but ext4 was asked for$/,
  });
});

test('what a crash left half open is closed, and what is open after the agent was lost is used', async t => {
  const { node, attachment, fields } = await open(t);
  await node.bringUp(fields);
  node.write(fields, word);
  await node.takeDown(fields);
  const name = mappedNameOf(attachment);
  execFileSync('dmsetup', ['create', name, '--notable', '--uuid', `CRYPT-LUKS2-0-${name}`]);
  await node.bringUp(fields);
  assert.equal(node.read(fields), word);
  await node.client.node.NodeUnpublishVolume(fields);
  execFileSync('umount', [fields.staging_target_path]);
  await node.bringUp(fields);
  assert.equal(node.read(fields), word);
  assert.equal(mappings().length, 1);
  await node.takeDown(fields);
  assert.deepEqual(mappings(), []);
});

test('a disk that goes while it is used is reported, taken down, and whole when it is back', async t => {
  const { store, bus, node, fields } = await open(t);
  await node.bringUp(fields);
  node.write(fields, word);
  bus.dropUnit(0);
  const { volume_id } = fields;
  const { volume_health } = await node.client.node.NodeGetVolumeHealth({ volume_id });
  assert.equal(volume_health?.health_statuses?.[0]?.status, 'INACCESSIBLE');
  await node.takeDownHung(fields);
  assert.deepEqual(mappings(), []);
  bus.addUnit(1, store);
  await node.bringUp(fields);
  assert.equal(node.read(fields), word);
  await node.takeDown(fields);
});

type Death = { readonly command: RegExp; readonly when: 'after' | number };

/** The machine of an agent that ends after a command, or after so many seconds of it, with the command itself. */
function mortal(machine: Host, { command: last, when }: Death): Host {
  let isDead = false;
  const alive = <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (isDead) throw new Error('the agent has ended');
      return work(...args);
    };
  };
  const run: Host['run'] = async (command, args, options) => {
    if (!last.test([command, ...args].join(' '))) return machine.run(command, args, options);
    isDead = true;
    if (when === 'after') await machine.run(command, args, options);
    if (typeof when === 'number')
      await machine.run('timeout', ['--signal=KILL', String(when), command, ...args], options);
    throw new Error('the agent ended here');
  };
  const { append, writeDurably, removeFile, makeDirectory } = machine;
  return {
    ...machine,
    run: alive(run),
    append: alive(append),
    writeDurably: alive(writeDurably),
    removeFile: alive(removeFile),
    makeDirectory: alive(makeDirectory),
  };
}

const deaths: readonly Death[] = [
  { command: /^cryptsetup luksFormat/, when: 0.3 },
  { command: /^cryptsetup luksFormat/, when: 'after' },
  { command: /^cryptsetup open/, when: 0.5 },
  { command: /^cryptsetup open/, when: 'after' },
  { command: /^mkfs/, when: 'after' },
];
for (const death of deaths)
  test(`a first stage that ends ${death.when} at ${death.command.source} is gone on from by the next`, async t => {
    const bench = openRealBench(t);
    const plain = requestFor(bench, bench.makeImage('image', { sizeBytes: 64 * MiB }));
    const request = { ...plain, attachment: { ...plain.attachment, ...luks } };
    const dying = await startAgent({ ...bench, host: mortal(host, death) });
    await assert.rejects(stage(dying, request, secrets));
    const agent = await startAgent({ ...bench, host });
    await stage(agent, request, secrets);
    const file = join(request.stagingPath, 'file');
    execFileSync('tee', [file], { input: word, stdio: ['pipe', 'ignore', 'inherit'] });
    await unstage(agent, request);
    assert.deepEqual(mappings(), []);
    await stage(agent, request, secrets);
    assert.equal(readFileSync(file, 'utf8'), word);
    await unstage(agent, request);
    assert.deepEqual(mappings(), []);
  });
