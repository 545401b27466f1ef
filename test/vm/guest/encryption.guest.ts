import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { mappedNameOf } from '../../../node-agent/format/mapping.ts';
import type { Host } from '../../../node-agent/host.ts';
import { stage, unstage } from '../../../node-agent/volumes/stage.ts';
import { openRealBench, requestFor, startAgent } from '../../harness/node.ts';
import { writer } from '../../harness/node/served.ts';
import { filesWith, host, MiB, startGuestNode } from './agent.ts';
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

/** Opens a node with a disk on its bus, and a volume to encrypt on that disk. */
async function open(t: TestContext, { name = 'vol1', sizeBytes = 64 * MiB, capability = writer } = {}) {
  const makeStore = openStores(t);
  const store = makeStore(name, sizeBytes);
  // Allows discards.
  writeFileSync(`${store.home}/attrib/emulate_tpu`, '1');
  const bus = openBus(t);
  const node = await startGuestNode(t);
  bus.addUnit(0, store);
  const attachment = { ...attachmentTo(store), ...luks };
  const fields = { ...node.volumeAt({ name, attachment, capability }), secrets };
  return { store, makeStore, bus, node, attachment, fields };
}

/** Lists the device-mapper devices of this machine. */
function mappings(): readonly string[] {
  return readdirSync('/sys/block').filter(name => name.startsWith('dm-'));
}

/** Copies bytes with `dd`. */
function bytes(args: readonly string[], input?: string): Buffer {
  return execFileSync('dd', ['status=none', ...args], { input });
}

/** Returns the hash of a store's header, which holds its keys. */
function headerOf({ path }: Store): string {
  const data = Buffer.alloc(16 * MiB);
  const file = openSync(path, 'r');
  readSync(file, data, 0, data.length, 0);
  closeSync(file);
  return hash('sha256', data);
}

test('a volume that is attached again while it is staged is cut off below its decryption and staged anew', async t => {
  const { node, fields } = await open(t);
  await node.requireStagedAnew(fields, mappings);
});

for (const [capability, sizeBytes] of [
  [writer, 64 * MiB],
  [xfs, 384 * MiB],
] as const)
  test(`an ${capability.mount?.fs_type} volume is encrypted, grows while it is used, and is found at another place`, async t => {
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

test('a pod that only reads an encrypted block volume cannot write to it', async t => {
  const { node, fields } = await open(t, { capability: block });
  const reading = { ...fields, readonly: true };
  await node.bringUp(reading);
  assert.throws(() => bytes([`of=${fields.target_path}`, 'conv=notrunc,fsync'], word));
  assert.equal(bytes([`if=${fields.target_path}`, 'bs=4096', 'count=1', 'iflag=direct']).length, 4096);
  await node.takeDown(fields);
  assert.deepEqual(mappings(), []);
});

test('a block volume is encrypted and keeps its data', async t => {
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

test('a reader of an encrypted volume that was not unmounted cleanly sees the durable data', async t => {
  const { store, makeStore, bus, node, fields } = await open(t);
  await node.bringUp(fields);
  node.write(fields, word);
  const copy = makeStore('copy', 64 * MiB);
  execFileSync('dd', [`if=${store.path}`, `of=${copy.path}`, 'bs=1M', 'conv=notrunc', 'status=none']);
  bus.addUnit(1, copy);
  const capability = { ...writer, access_mode: { mode: 'SINGLE_NODE_READER_ONLY' } } as const;
  const attachment = { ...attachmentTo(copy), ...luks, readonly: true };
  const asReader = (change: object) => ({
    ...node.volumeAt({ name: 'copy', attachment: { ...attachment, ...change }, capability, readonly: true }),
    secrets,
  });
  await assert.rejects(node.client.node.NodeStageVolume(asReader({ attachmentId: 'reader' })), {
    code: 'FAILED_PRECONDITION',
    detail: /was not unmounted cleanly; mount it once for writing/,
  });
  const replaying = asReader({ mayReplay: true });
  await node.bringUp(replaying);
  assert.equal(node.read(replaying), word);
  const ofCopy = readdirSync('/sys/block').filter(
    name => name.startsWith('dm-') && readFileSync(`/sys/block/${name}/ro`, 'utf8') === '1\n',
  );
  assert.equal(ofCopy.length, 1);
  await node.takeDown(replaying);
  await node.takeDown(fields);
  assert.deepEqual(mappings(), []);
});

test('a wrong passphrase changes nothing, and a replaced passphrase no longer opens the volume', async t => {
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

test('a volume with plain data is not encrypted, and encrypted data is not mounted as it is', async t => {
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
    detail: /holds crypto_LUKS, but ext4 was requested$/,
  });
});

test("a half-open mapping is closed after a crash, and an open one is used after the agent's records are lost", async t => {
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

test('a disk that disappears while in use is reported, taken down, and intact when it is back', async t => {
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

/** Wraps the machine of an agent that ends after a command, or so many seconds into it, together with the command. */
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
  const { append, writeDurably, removeFile, createDirectory } = machine;
  return {
    ...machine,
    run: alive(run),
    append: alive(append),
    writeDurably: alive(writeDurably),
    removeFile: alive(removeFile),
    createDirectory: alive(createDirectory),
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
  test(`the next stage continues after the first one ended ${death.when} at ${death.command.source}`, async t => {
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
