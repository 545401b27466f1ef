import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import { exportLibvirt } from '../../../gateway/exports/libvirt.ts';
import { openHypervisor, runVirsh, type Virsh } from '../../../gateway/exports/libvirt/virsh.ts';
import { createNames } from '../../../gateway/exports/targets/names.ts';
import { silentLog } from '../../../src/lib/log.ts';
import type { MachineServant } from '../fleet/fleet.ts';
import { accessOf, median, openPoolWith } from '../targets/exported.ts';
import { defineDomain, startDomain, virsh } from './domain.ts';

const directory = process.env['HYPERVISOR_DIR'] ?? assert.fail('there is no HYPERVISOR_DIR');
const MiB = 2 ** 20;
const key = Buffer.from('key');
const names = ['n1', 'n2'] as const;

/** The virtual machines that are the nodes, and the ids that their agents chose. */
const nodes = new Map<string, { servant: MachineServant; id: string }>();

before(async () => {
  for (const name of names) defineDomain(directory, name);
  await Promise.all(names.map(boot));
});

// What is connected keeps this process from its end.
after(() => Promise.all([...nodes.values()].map(({ servant }) => servant.end())));

async function boot(name: string): Promise<void> {
  const servant = await startDomain(directory, name);
  nodes.set(name, { servant, id: await servant.ask<string>('start') });
}

function nodeOf(name: string) {
  const { servant, id } = nodes.get(name) ?? assert.fail(name);
  return { servant, id, access: (type?: 'mount' | 'block') => accessOf(id, type) };
}

/** The disks of our making that machines have now or at their next start. */
function disksLeft(): readonly string[] {
  const descriptions = names.flatMap(name => [virsh('dumpxml', name), virsh('dumpxml', '--inactive', name)]);
  return descriptions.flatMap(text => text.match(/<alias name='ua-fairlead[^']*'/g) ?? []);
}

async function open(t: TestContext, more: object = {}) {
  const root = `${directory}/pool/${crypto.randomUUID()}`;
  mkdirSync(root);
  const pool = await openPoolWith(t, { protocol: 'libvirt', ...more }, root);
  return {
    pool,
    attach: async (volume: KnownVolume, access: NodeAccess) => (await pool.attach(volume, access)).attachment,
  };
}

async function* nothing(): AsyncGenerator<never> {}

/** The export of a gateway that ends after some commands. */
function openUntil(commands: number) {
  let left = commands;
  const run: Virsh = async args => {
    if (left-- <= 0) throw new Error('ended');
    return runVirsh(args);
  };
  const hypervisor = openHypervisor('qemu:///system', run);
  return exportLibvirt({}, { hypervisor, names: createNames(key), log: silentLog });
}

const labelOf = (volume: KnownVolume): string => volume.id.slice('c.'.length);

describe('exported to the virtual machines of libvirt', () => {
  test('a volume is written, grows while it is used, and is read by another machine', async t => {
    const { pool, attach } = await open(t);
    const [one, two] = names.map(nodeOf) as [ReturnType<typeof nodeOf>, ReturnType<typeof nodeOf>];
    const volume = await pool.makeVolume('c.moves', 64);
    const name = labelOf(volume);
    await one.servant.ask('bringUp', name, await attach(volume, one.access()));
    await pool.backend.expand(volume, { requiredBytes: 128 * MiB, limitBytes: 0 });
    await one.servant.ask('expand', name, 128 * MiB);
    const path = await one.servant.ask<string>('pathOf', name);
    await one.servant.ask('run', 'sh', ['-ec', 'head -c 20M /dev/urandom > "$0/bytes"; sync', path]);
    const sum = await one.servant.ask('run', 'sh', ['-ec', 'cd "$0"; sha256sum bytes', path]);
    await one.servant.ask('takeDown', name);
    for (let count = 0; count < 2; count++) await pool.backend.detach(volume, one.id, 'c');
    assert.deepEqual(disksLeft(), []);
    assert.deepEqual(await one.servant.ask('connectionsLeft'), []);
    const grown = { ...volume, sizeBytes: 128 * MiB };
    await two.servant.ask('bringUp', name, await attach(grown, two.access()));
    const there = await two.servant.ask<string>('pathOf', name);
    assert.equal(await two.servant.ask('run', 'sh', ['-ec', 'cd "$0"; sha256sum bytes', there]), sum);
    await two.servant.ask('takeDown', name);
    await assert.rejects(pool.backend.delete(volume), { code: 'FAILED_PRECONDITION' });
    await pool.backend.detach(volume, two.id, 'c');
    await pool.backend.delete(volume);
    assert.deepEqual(disksLeft(), []);
  });

  test('a machine that writes without pause sees an error, and nothing of it lands after the answer', async t => {
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

  test('a machine that stands still has not given its disk back until it goes on', async t => {
    const { pool, attach } = await open(t);
    const { servant, id, access } = nodeOf('n1');
    const volume = await pool.makeVolume('c.paused', 1);
    await attach(volume, access());
    await servant.pause();
    const detaching = pool.backend.detach(volume, id, 'c');
    await assert.rejects(detaching, {
      code: 'UNAVAILABLE',
      detail: /"n1" has not given the disk back: it is paused/,
    });
    await servant.resume();
    await pool.backend.detach(volume, id, 'c');
    assert.deepEqual(disksLeft(), []);
  });

  test('what two machines write to one raw volume, each reads', async t => {
    const { pool, attach } = await open(t);
    const [one, two] = names.map(nodeOf) as [ReturnType<typeof nodeOf>, ReturnType<typeof nodeOf>];
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

  test('a gateway that ends at any command leaves nothing that the next does not find', async t => {
    const path = `${directory}/pool/steps.img`;
    writeFileSync(path, Buffer.alloc(MiB));
    const { id, access } = nodeOf('n1');
    const volume = { id: 'c.steps', nonce: 'n', path, sizeBytes: MiB };
    let steps = 0;
    for (let isDone = false; !isDone; steps++) {
      const [ending, next, asked] = [openUntil(steps), openUntil(Infinity), access()];
      isDone = await ending
        .publish(volume, asked)
        .then(() => ending.withdraw(volume, id, 'c'))
        .then(
          () => true,
          () => false,
        );
      if (steps % 2 === 0) await next.publish(volume, asked);
      if (steps % 3 === 0) await next.withdraw(volume, id, 'c');
      else await next.restore?.(nothing());
      assert.deepEqual(disksLeft(), [], `after ${steps} commands`);
    }
    t.diagnostic(`${steps} commands`);
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

  test('a machine that does not give its disk back is powered off where the pool says so, and starts without it', async t => {
    const { pool, attach } = await open(t, { fence: 'power' });
    const { servant, id, access } = nodeOf('n2');
    const volume = await pool.makeVolume('c.powered', 1);
    await attach(volume, access());
    await servant.pause();
    await pool.backend.detach(volume, id, 'c');
    assert.equal(virsh('domstate', 'n2').trim(), 'shut off');
    assert.deepEqual(disksLeft(), []);
  });
});
