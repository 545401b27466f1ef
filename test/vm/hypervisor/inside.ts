import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { libvirt } from '../../../gateway/exports/libvirt.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { seed } from '../../harness/sample.ts';
import { moments } from '../../suites/exports/killed.ts';
import type { Servant } from '../fleet/fleet.ts';
import { freeBlocks, moveBetweenNodes, until, writtenOf, type Stage } from '../fleet/scenarios.ts';
import { accessOf, toAttachment } from '../targets/exported.ts';
import { defineEmptyDomain, virsh } from './domain.ts';
import {
  directory,
  disksLeft,
  endMachines,
  newDirectory,
  nodeOf,
  open,
  startMachine,
  startMachines,
} from './machines.ts';
import { createMortalGateway } from './mortal-gateway.ts';
import { median } from '../../harness/values.ts';

const MiB = 2 ** 20;

before(startMachines);
after(endMachines);

const isRetried = (code: string | undefined): boolean => code === 'ABORTED' || code === 'UNAVAILABLE';

/** Repeats a request while a gateway finishes the operation of the one before it. */
async function untilIdle(ask: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      await ask();
      return;
    } catch (error) {
      if (!isRetried((error as { readonly code?: string }).code)) throw error;
      await sleep(100);
    }
}

describe('exported to the virtual machines of libvirt', () => {
  test("the second machine reads the first one's data after an expansion, a snapshot taken meanwhile is restored, and trimmed blocks are freed", async t => {
    const box = await createMortalGateway(`${directory}/moves`, newDirectory()).start();
    t.after(() => box.end());
    const [one, two] = [nodeOf('n1'), nodeOf('n2')];
    for (const { id } of [one, two]) await box.ask('putNode', id);
    const stage: Stage = { box, nodes: [one.servant, two.servant], ids: [one.id, two.id] };
    await moveBetweenNodes(stage, 'libvirt');
    await freeBlocks(stage, 'libvirt');
  });

  test('a machine that writes without pause sees an error, and none of its writes lands after the answer', async t => {
    const { pool, attach } = await open(t);
    const { servant, id, access } = nodeOf('n1');
    const volume = await pool.makeVolume('c.fenced', 32);
    await servant.ask('bringUp', 'fenced', await attach(volume, access('block')), 'block');
    const empty = pool.hashOf(volume.id);
    await servant.ask('writeRaw', 'fenced');
    while (pool.hashOf(volume.id) === empty) await sleep(100);
    await pool.backend.detach(volume, id, 'c');
    const content = pool.hashOf(volume.id);
    assert.deepEqual(disksLeft(), []);
    assert.deepEqual(await servant.ask('rawEnd', 'fenced'), [7, null]);
    assert.equal(pool.hashOf(volume.id), content);
    await servant.ask('takeDown', 'fenced');
  });

  test('a paused machine keeps its disk until it continues', async t => {
    const { pool, attach } = await open(t);
    const { servant, id, access } = nodeOf('n1');
    const volume = await pool.makeVolume('c.paused', 1);
    await attach(volume, access());
    await servant.pause();
    const detaching = pool.backend.detach(volume, id, 'c');
    await assert.rejects(detaching, {
      code: 'UNAVAILABLE',
      detail: /"n1" has not released the disk: it is paused/,
    });
    await servant.resume();
    await pool.backend.detach(volume, id, 'c');
    assert.deepEqual(disksLeft(), []);
  });

  test("two machines with one raw volume read each other's data", async t => {
    const { pool, attach } = await open(t);
    const [one, two] = [nodeOf('n1'), nodeOf('n2')];
    const volume = await pool.makeVolume('c.shared', 1);
    const capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
    for (const { servant, access } of [one, two])
      await servant.ask('bringUp', 'shared', await attach(volume, { ...access(), capability }), 'block');
    const paths = await Promise.all([one, two].map(({ servant }) => servant.ask<string>('pathOf', 'shared')));
    const write = 'printf %4096s hello | dd of="$0" bs=4096 oflag=direct iflag=fullblock status=none';
    await one.servant.ask('run', 'sh', ['-ec', write, paths[0]]);
    const read = 'dd if="$0" bs=4096 count=1 iflag=direct status=none';
    const found = await two.servant.ask<string>('run', 'sh', ['-ec', read, paths[1]]);
    assert.equal(found.trim(), 'hello');
    for (const { servant, id } of [one, two]) {
      await servant.ask('takeDown', 'shared');
      await pool.backend.detach(volume, id, 'c');
    }
    assert.deepEqual(disksLeft(), []);
  });

  test('a block device is a disk, which grows with it', async t => {
    const file = `${newDirectory()}/disk`;
    writeFileSync(file, Buffer.alloc(8 * MiB));
    const path = losetup('--find', '--show', '--', file).trim();
    t.after(() => losetup('--detach', path));
    const parts = {
      root: '/dev',
      kind: 'device',
      log: silentLog,
      poolKey: async () => Buffer.from('own'),
    } as const;
    const exported = await libvirt.open({ protocol: 'libvirt' }, parts);
    const { servant, id, access } = nodeOf('n1');
    const volume = { id: 'c.device', nonce: 'own', path, sizeBytes: 8 * MiB, parameters: {} };
    const use = access('block');
    const { attachment } = toAttachment(await exported.publish(volume, use), volume, use);
    await servant.ask('bringUp', 'device', attachment, 'block');
    const disk = await servant.ask<string>('pathOf', 'device');
    const write = 'printf %4096s hello | dd of="$0" bs=4096 oflag=direct iflag=fullblock status=none';
    await servant.ask('run', 'sh', ['-ec', write, disk]);
    assert.match(execFileSync('dd', [`if=${path}`, 'bs=4096', 'count=1', 'iflag=direct'], quiet), / hello$/);
    truncateSync(file, 16 * MiB);
    losetup('--set-capacity', path);
    await exported.resize?.({ ...volume, sizeBytes: 16 * MiB });
    const sizeOf = () => servant.ask<string>('run', 'blockdev', ['--getsize64', disk]);
    await until(async () => Number(await sizeOf()) === 16 * MiB);
    await servant.ask('takeDown', 'device');
    await exported.withdraw(volume, id, 'c');
    assert.deepEqual(disksLeft(), []);
  });

  test("a machine's disk has the volume's limits of I/O, and the next ones at once", async t => {
    const { pool, attach } = await open(t);
    const { servant, id, access } = nodeOf('n1');
    const volume = await pool.makeVolume('c.limited', 16);
    const limited = {
      ...access(),
      capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
    } as const;
    const limits = { bytesPerSecond: 2 ** 20 };
    await servant.ask('bringUp', 'limited', await attach(volume, { ...limited, limits }), 'block');
    const own = ['<read_bytes_sec>1048576', '<write_bytes_sec>1048576'];
    assert.deepEqual([tunes(), tunes('--inactive')], [own, own]);
    const path = await servant.ask<string>('pathOf', 'limited');
    const write = 'dd if=/dev/zero of="$0" bs=64k count=96 oflag=direct status=none';
    const startMs = performance.now();
    await servant.ask('run', 'sh', ['-ec', write, path]);
    const ratio = 6_000 / (performance.now() - startMs);
    t.diagnostic(`the machine wrote at ${ratio.toFixed(2)} of the limit`);
    assert.ok(ratio < 1.3, `${ratio} of the limit`);
    await attach(volume, { ...limited, limits: { iops: 500 } });
    const next = ['<read_iops_sec>500', '<write_iops_sec>500'];
    assert.deepEqual([tunes(), tunes('--inactive')], [next, next]);
    await attach(volume, limited);
    assert.deepEqual([tunes(), tunes('--inactive')], [[], []]);
    await servant.ask('takeDown', 'limited');
    await pool.backend.detach(volume, id, 'c');
    assert.deepEqual(disksLeft(), []);
  });

  test('a machine that was saved with a disk, or has a snapshot with it, keeps the disk until that is deleted', async t => {
    const { pool, attach } = await open(t);
    const name = 'empty';
    const volume = await pool.makeVolume('c.kept', 1);
    const isPlugged = (...flags: readonly string[]): boolean =>
      virsh('dumpxml', ...flags, '--', name).includes('ua-fairlead');
    const refused = (detail: RegExp): Promise<void> =>
      assert.rejects(pool.backend.detach(volume, name, 'c'), { code: 'UNAVAILABLE', detail });
    defineEmptyDomain(directory, name);
    virsh('start', '--', name);
    await attach(volume, accessOf(name));
    virsh('managedsave', '--', name);
    await refused(/"empty" has the disk in its saved state; start it, or .*managedsave-remove empty/);
    virsh('start', '--', name);
    assert.ok(isPlugged(), 'it goes on with its disk');
    const [, target = ''] = /<target dev='(vd\w+)'/.exec(virsh('dumpxml', '--', name)) ?? [];
    const memory = ['--memspec', `file=${directory}/kept.memory,snapshot=external`];
    virsh('snapshot-create-as', name, 'before', ...memory, '--diskspec', `${target},snapshot=no`);
    await refused(/"empty" has the disk in its snapshots "before"/);
    virsh('snapshot-delete', '--metadata', name, 'before');
    virsh('destroy', '--', name);
    await pool.backend.detach(volume, name, 'c');
    assert.equal(isPlugged('--inactive'), false);
    virsh('undefine', '--', name);
  });

  test('a read-only machine has a raw volume beside a writing one, in either order', async t => {
    const { pool, attach } = await open(t);
    const volume = await pool.makeVolume('c.read', 1);
    const [writer, reader] = [nodeOf('n1'), nodeOf('n2')];
    const writing = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
    const reading = { accessType: 'block', accessMode: 'MULTI_NODE_READER_ONLY' } as const;
    const uses = [
      { ...writer.access(), capability: writing },
      { ...reader.access(), capability: reading, readonly: true },
    ];
    for (const order of [uses, uses.toReversed()]) {
      for (const access of order) await attach(volume, access);
      for (const { nodeId } of order) await pool.backend.detach(volume, nodeId, 'c');
    }
    assert.deepEqual(disksLeft(), []);
  });

  test('a gateway that is killed at any command leaves nothing that the next one does not find, and no pod sees it', async t => {
    const gateway = createMortalGateway(`${directory}/killed`, newDirectory());
    let box: Servant = await gateway.start();
    t.after(() => box.end());
    const { servant, id } = nodeOf('n1');
    await box.ask('putNode', id);
    for (const name of ['live', 'steps'])
      await box.ask('create', name, 'libvirt', { requiredBytes: 16 * MiB });
    await servant.ask('bringUp', 'live', await box.ask('attach', 'live', id, 'mount'));
    await servant.ask('writeFile', 'live');
    const live = disksLeft();
    assert.equal(live.length, 1);
    for (let step = 1, isPast = false; !isPast; step++) {
      gateway.arm(step, moments[(step + seed) % moments.length] ?? 'before');
      const fault = await box
        .ask('attach', 'steps', id, 'block')
        .then(() => box.ask('detach', 'steps', id))
        .then(() => undefined, String);
      isPast = !(await gateway.isKilled());
      assert.equal(fault === undefined, isPast, `command ${step}: ${fault}`);
      if (isPast) t.diagnostic(`${step - 1} commands`);
      else {
        await box.end();
        box = await gateway.start();
        if (step % 2 === 0) await untilIdle(() => box.ask('attach', 'steps', id, 'block'));
        await untilIdle(() => box.ask('detach', 'steps', id));
      }
      assert.deepEqual(disksLeft(), live, `killed at command ${step}`);
    }
    const written = await writtenOf(servant, 'live');
    await until(async () => (await writtenOf(servant, 'live')) > written + 5);
    await servant.ask('stopWriting', 'live');
    await servant.ask('takeDown', 'live');
    await box.ask('detach', 'live', id);
    assert.deepEqual(disksLeft(), []);
  });

  test('thirty attaches and detaches leave nothing', async t => {
    const { pool, attach } = await open(t);
    const { servant, id, access } = nodeOf('n1');
    const volume = await pool.makeVolume('c.again', 1);
    const [attaching, detaching]: [number[], number[]] = [[], []];
    for (let count = 0; count < 30; count++) {
      const startMs = performance.now();
      await attach(volume, access());
      const middleMs = performance.now();
      await pool.backend.detach(volume, id, 'c');
      attaching.push(middleMs - startMs);
      detaching.push(performance.now() - middleMs);
    }
    assert.deepEqual(disksLeft(), []);
    assert.deepEqual(await servant.ask('connectionsLeft'), []);
    t.diagnostic(
      `attach ${median(attaching).toFixed(0)} ms, detach ${median(detaching).toFixed(0)} ms (p50)`,
    );
  });

  test('a machine that does not release its disk is powered off if the pool says so, and starts with only its other disk', async t => {
    const [fenced, plain] = [await open(t, { fence: 'power' }), await open(t)];
    const { servant, id, access } = nodeOf('n2');
    const volume = await fenced.pool.makeVolume('c.powered', 1);
    const other = await plain.pool.makeVolume('c.other', 32);
    const attachment = await plain.attach(other, access());
    await servant.ask('bringUp', 'other', attachment);
    const path = await servant.ask<string>('pathOf', 'other');
    await servant.ask('run', 'sh', ['-ec', 'echo durable > "$0/file"; sync', path]);
    await fenced.attach(volume, access());
    await servant.pause();
    await fenced.pool.backend.detach(volume, id, 'c');
    assert.equal(virsh('domstate', 'n2').trim(), 'shut off');
    assert.equal(disksLeft().length, 1);
    await startMachine('n2');
    const again = nodeOf('n2').servant;
    assert.deepEqual(await again.ask('connectionsLeft'), ['vda']);
    await again.ask('bringUp', 'other', attachment);
    const file = `${await again.ask<string>('pathOf', 'other')}/file`;
    assert.equal(await again.ask('run', 'cat', [file]), 'durable\n');
    await again.ask('takeDown', 'other');
    await plain.pool.backend.detach(other, id, 'c');
    assert.deepEqual([disksLeft(), await again.ask('connectionsLeft')], [[], []]);
  });
});

const quiet = { encoding: 'utf8', stdio: 'pipe' } as const;

function losetup(...args: readonly string[]): string {
  return execFileSync('losetup', args, quiet);
}

/** Lists the limits of I/O in the description of the first machine. */
function tunes(...flags: readonly string[]): readonly string[] {
  return (
    virsh('dumpxml', ...flags, '--', 'n1').match(/<(read|write)_(iops|bytes)_sec>\d+/g) ?? []
  ).toSorted();
}
