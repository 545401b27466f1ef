import { recorded } from '../../../suites/exports/recorded.ts';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeAccess } from '../../../../gateway/backend.ts';
import type { Export, VolumeKind } from '../../../../gateway/export.ts';
import { exportLibvirt, libvirt } from '../../../../gateway/exports/libvirt.ts';
import { openHypervisor, type Virsh } from '../../../../gateway/exports/libvirt/virsh.ts';
import { freeTarget } from '../../../../gateway/exports/libvirt/xml.ts';
import { createNames } from '../../../../gateway/local/targets/names.ts';
import { createMemoryLog } from '../../../harness/gateway.ts';
import { createCountdown, playEnding } from '../../../suites/exports/ended.ts';
import { createVirsh } from './virsh.ts';

const volume = { id: 'a.one', nonce: 'first', path: "/srv/it's <a>.img", sizeBytes: 2 ** 20 };
const other = { ...volume, id: 'a.two', path: '/srv/a.two.img' };
const accessOf = (nodeId: string, access: Partial<NodeAccess> = {}): NodeAccess => ({
  nodeId,
  cluster: 'a',
  attachmentId: crypto.randomUUID(),
  capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
  readonly: false,
  ...access,
});

const modeOf = (accessMode: NodeAccess['capability']['accessMode']) => ({
  capability: { accessType: 'block' as const, accessMode },
});

type Setup = {
  readonly fake?: ReturnType<typeof createVirsh>;
  readonly virsh?: Virsh;
  readonly poolKey?: string;
  readonly settings?: Parameters<typeof exportLibvirt>[0];
  readonly kind?: VolumeKind;
};

function open({
  fake = createVirsh(),
  virsh = fake.virsh,
  poolKey = 'one',
  settings = {},
  kind = 'file',
}: Setup = {}) {
  const { log, lines } = createMemoryLog();
  const hypervisor = openHypervisor('qemu:///system', virsh);
  const names = createNames(Buffer.from(poolKey));
  const exported = exportLibvirt(settings, { hypervisor, names, log, kind, patienceMs: 0 });
  return { fake, lines, exported: exported as Required<Omit<Export, 'check' | 'close'>> };
}

const descriptionOf = (disks: readonly string[]): string => disks[0] ?? assert.fail('it has no disk');

describe('the export libvirt', () => {
  test("a disk is in its machine and in the machine's next start, the same however often it is published", async () => {
    const { fake, exported } = open();
    const [domain, stranger] = [fake.add('n1'), fake.add('n2')];
    const access = accessOf('n1');
    const reach = await exported.publish(volume, access);
    assert.equal(reach.protocol === 'device' && reach.serial?.length, 20);
    assert.deepEqual(domain.live, domain.next);
    assert.deepEqual(await exported.publish(volume, access), reach);
    assert.equal(domain.live.length, 1);
    assert.match(
      descriptionOf(domain.live),
      /<source file='\/srv\/it&apos;s &lt;a&gt;.img'\/><target dev='vdb'/,
    );
    assert.equal((await exported.users(volume)).length, 1);
    for (let count = 0; count < 2; count++) await exported.withdraw(volume, 'n1', 'a');
    for (const { live, next } of [domain, stranger]) assert.deepEqual([live, next], [[], []]);
  });

  test('a block device is a disk of that kind', async () => {
    const { fake, exported } = open({ kind: 'device' });
    const domain = fake.add('n1');
    await exported.publish({ ...volume, path: '/dev/vg0/a' }, accessOf('n1'));
    assert.match(descriptionOf(domain.live), /^<disk type='block' .*<source dev='\/dev\/vg0\/a'\/>/);
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual(domain.live, []);
  });

  test("a machine is found by the name of its node, without the node's key, or by the settings", async () => {
    const key = 'k'.repeat(43);
    const topology = { 'example.com/vm': 'five' };
    const rows = [
      ['{node}', 'n1'],
      ['{cluster}-{node}', 'a-n1'],
      ['vm-{example.com/vm}', 'vm-five'],
    ] as const;
    for (const [domain, name] of rows) {
      const { fake, exported } = open({ settings: { domain } });
      const { live } = fake.add(name);
      await exported.publish(volume, accessOf(`n1~${key}`, { topology }));
      assert.equal(live.length, 1, domain);
    }
    const { exported } = open({ settings: { domain: '{rack}' } });
    await assert.rejects(exported.publish(volume, accessOf('n1')), {
      code: 'FAILED_PRECONDITION',
      detail: /"rack"/,
    });
  });

  test('no disk is plugged into a machine that is unknown or off, or without its file', async () => {
    const { fake, exported } = open();
    await assert.rejects(exported.publish(volume, accessOf('n1')), { code: 'FAILED_PRECONDITION' });
    fake.add('n1', { isRunning: false });
    await assert.rejects(exported.publish(volume, accessOf('n1')), {
      code: 'UNAVAILABLE',
      detail: /is not running; start it/,
    });
    fake.add('n2');
    const missing = { ...volume, path: '/missing' };
    await assert.rejects(exported.publish(missing, accessOf('n2')), {
      code: 'UNAVAILABLE',
      detail: /it failed/,
    });
  });

  test('a reader cannot write, and concurrent writers bypass their caches', async () => {
    const { fake, exported } = open();
    const publish = async (name: string, access: Partial<NodeAccess>): Promise<string> => {
      const domain = fake.add(name);
      await exported.publish(volume, accessOf(name, access));
      return descriptionOf(domain.live);
    };
    assert.match(await publish('n1', { readonly: true }), /<readonly\/>/);
    assert.doesNotMatch(await publish('n5', { readonly: true, mayReplay: true }), /<readonly\/>/);
    const reader = { readonly: true, ...modeOf('MULTI_NODE_READER_ONLY') };
    assert.match(await publish('n2', reader), /discard='unmap'\/>.*<readonly\/><shareable\/>/);
    assert.match(await publish('n3', modeOf('MULTI_NODE_MULTI_WRITER')), /cache='none'.*<shareable\/>/);
    assert.doesNotMatch(await publish('n4', {}), /readonly|shareable|cache/);
  });

  test('a machine that was saved with a disk keeps it until it continues or the save is dropped, which is up to its owner', async () => {
    const { fake, exported } = open({ settings: { fence: 'power' } });
    const domain = fake.add('n1');
    await exported.publish(volume, accessOf('n1'));
    const disks = [...domain.live];
    Object.assign(domain, { isRunning: false, live: [], saved: disks });
    const refused = async (detail: RegExp): Promise<void> => {
      await assert.rejects(exported.withdraw(volume, 'n1', 'a'), { code: 'UNAVAILABLE', detail });
      assert.deepEqual(domain.next, disks);
    };
    await refused(/"n1" has the disk in its saved state; start it, or .*"virsh managedsave-remove n1"/);
    domain.saved = 'unreadable';
    await refused(/the saved state of the virtual machine "n1" cannot be read/);
    // Other machines get their disks.
    fake.add('n2');
    await exported.publish(other, accessOf('n2'));
    await exported.withdraw(other, 'n2', 'a');
    // A save with the disk counts, even if the description no longer has it.
    Object.assign(domain, { saved: disks, next: [] });
    assert.equal((await exported.users(volume)).length, 1);
    await assert.rejects(exported.withdraw(volume, 'n1', 'a'), { code: 'UNAVAILABLE' });
    Object.assign(domain, { isRunning: true, live: disks, saved: undefined });
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual([domain.live, domain.next], [[], []]);
  });

  test('a machine that was saved without the disk gives it back', async () => {
    const { fake, exported } = open();
    const domain = fake.add('n1');
    await exported.publish(volume, accessOf('n1'));
    Object.assign(domain, { isRunning: false, live: [], saved: [] });
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual(domain.next, []);
  });

  test('a snapshot that could restore the disk is named', async () => {
    const { fake, exported } = open();
    const domain = fake.add('n1');
    await exported.publish(volume, accessOf('n1'));
    domain.snapshots = { before: [], 'with it': [...domain.live] };
    await assert.rejects(exported.withdraw(volume, 'n1', 'a'), {
      code: 'UNAVAILABLE',
      detail: /"n1" has the disk in its snapshots "with it"; delete/,
    });
    assert.deepEqual([domain.live.length, domain.next.length], [1, 1]);
    domain.snapshots = {};
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual([domain.live, domain.next], [[], []]);
  });

  test('a transient machine has its disk until it ends', async () => {
    const { fake, exported } = open();
    const domain = fake.add('n1', { isPersistent: false });
    const access = accessOf('n1');
    for (let count = 0; count < 2; count++) await exported.publish(volume, access);
    assert.deepEqual([domain.live.length, domain.next.length], [1, 0]);
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual(domain.live, []);
  });

  test('withdraw removes exactly that node of that cluster, that volume, in that pool', async () => {
    const { fake, exported } = open();
    const { exported: neighbour } = open({ fake, poolKey: 'two' });
    const domain = fake.add('n1');
    await exported.publish(other, accessOf('n1'));
    await exported.publish(volume, accessOf('n1', { cluster: 'b' }));
    await neighbour.publish(volume, accessOf('n1'));
    const before = [...domain.live];
    await exported.publish(volume, accessOf('n1'));
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual(domain.live, before);
    assert.deepEqual(domain.next, before);
  });

  test('a paused machine keeps its disk: that is no detach, and its next start is without it', async () => {
    const { fake, exported } = open();
    const domain = fake.add('n1', { isStill: true });
    await exported.publish(volume, accessOf('n1'));
    await assert.rejects(exported.withdraw(volume, 'n1', 'a'), {
      code: 'UNAVAILABLE',
      detail: 'the virtual machine "n1" has not released the disk: it is paused (user)',
    });
    assert.deepEqual([domain.live.length, domain.next.length], [1, 0]);
    assert.ok(!fake.ran.some(line => line.startsWith('destroy')));
    domain.isStill = false;
    await exported.withdraw(volume, 'n1', 'a');
    assert.deepEqual(domain.live, []);
  });

  test('a disk that a machine has yet to release does not count as its disk: it is plugged in anew', async () => {
    const { fake, exported } = open();
    const domain = fake.add('n1');
    const access = accessOf('n1');
    await exported.publish(volume, access);
    domain.isStill = true;
    await assert.rejects(exported.withdraw(volume, 'n1', 'a'), { code: 'UNAVAILABLE' });
    await assert.rejects(exported.publish(volume, access), { code: 'UNAVAILABLE' });
    domain.isStill = false;
    fake.ran.length = 0;
    await exported.publish(volume, access);
    assert.deepEqual(
      fake.ran.map(line => line.replace(/ .*/, '')),
      ['detach-device-alias', 'attach-device'],
    );
    assert.deepEqual([domain.live.length, domain.next.length], [1, 1]);
  });

  test('a machine is powered off only if the pool says so, and only then', async () => {
    const { fake, exported, lines } = open({ settings: { fence: 'power' } });
    const domain = fake.add('n1');
    await exported.publish(volume, accessOf('n1'));
    await exported.withdraw(volume, 'n1', 'a');
    assert.ok(domain.isRunning);
    domain.isStill = true;
    await exported.publish(volume, accessOf('n1'));
    await exported.withdraw(volume, 'n1', 'a');
    assert.equal(domain.isRunning, false);
    assert.ok(lines.some(line => line.includes('powering off a virtual machine')));
  });

  test("a start plugs in recorded disks and removes others, except other pools' disks", async () => {
    const { fake, exported, lines } = open();
    const { exported: neighbour } = open({ fake, poolKey: 'two' });
    const domain = fake.add('n1');
    const access = accessOf('n1');
    await exported.publish(volume, access);
    const wanted = new Set(domain.live);
    await exported.publish(other, accessOf('n1'));
    await neighbour.publish(volume, accessOf('n1'));
    domain.live = domain.live.filter(disk => !wanted.has(disk));
    const lost = { volume, access: accessOf('n9') };
    await exported.restore(recorded([lost, { volume, access }]));
    assert.equal((await exported.users(volume)).length, 1);
    assert.equal((await exported.users(other)).length, 0);
    assert.equal((await neighbour.users(volume)).length, 1);
    assert.deepEqual(domain.live.toSorted(), domain.next.toSorted());
    assert.ok(lines.some(line => line.includes('cannot export an attached volume') && line.includes('n9')));
    // A machine that is off has its disks once it starts.
    [domain.isRunning, domain.live] = [false, []];
    await exported.restore(recorded([{ volume, access }]));
    assert.equal(domain.next.filter(disk => wanted.has(disk)).length, 1);
  });

  test("a machine that keeps an unrecorded disk at a start does not block others' disks", async () => {
    const { fake, exported, lines } = open();
    fake.add('n1', { isStill: true });
    const domain = fake.add('n2');
    await exported.publish(other, accessOf('n1'));
    await exported.publish(other, accessOf('n2'));
    await exported.restore(recorded([{ volume, access: accessOf('n2') }]));
    assert.deepEqual([domain.live.length, domain.next.length], [1, 1]);
    assert.equal((await exported.users(volume)).length, 1);
    assert.ok(lines.some(line => line.includes('cannot remove a target') && line.includes('n1')));
  });

  test('two hundred disks in twenty machines are found in place with a few reads', async () => {
    let commands = 0;
    const { fake, exported } = open({ fake: createVirsh({ step: () => commands++ }) });
    const attached = Array.from({ length: 200 }, (_, index) => ({
      volume: { ...volume, id: `a.${index}` },
      access: accessOf(`n${index % 20}`),
    }));
    for (let node = 0; node < 20; node++) fake.add(`n${node}`);
    await exported.restore(recorded(attached));
    assert.ok(fake.domains.every(({ live, next }) => live.length === 10 && next.length === 10));
    commands = 0;
    await exported.restore(recorded(attached));
    assert.ok(commands < 60, `${commands} commands`);
  });

  test('an expanded volume is shown with its size to its machine', async () => {
    const { fake, exported } = open();
    fake.add('n1');
    await exported.publish(volume, accessOf('n1'));
    await exported.resize({ ...other, sizeBytes: 2 ** 22 });
    await exported.resize({ ...volume, sizeBytes: 2 ** 21 });
    assert.deepEqual(
      fake.ran.filter(line => line.endsWith('B')),
      ['vdb 2097152B'],
    );
  });

  test('an incomplete reading proves no disk gone', async () => {
    const { fake, exported } = open();
    fake.add('n1');
    await exported.publish(volume, accessOf('n1'));
    const failing =
      (change: (stdout: string) => string, status = 0): Virsh =>
      async args => {
        const answer = await fake.virsh(args);
        return { ...answer, status, stdout: change(answer.stdout) };
      };
    const ways: readonly Virsh[] = [
      failing(() => '', 1),
      failing(text => text.replace(/<\/domain>[^<]*$/, '')),
      failing(text => text.replaceAll(/<uuid>.*<\/uuid>/g, '')),
      failing(text => text.replace(/Persistent.*/, '')),
      failing(text => text.replace(/Managed save.*/, '')),
      failing(text => (text.includes('<') ? text.replace(/^.* n1$/m, '') : text)),
    ];
    for (const virsh of ways)
      await assert.rejects(open({ fake, virsh }).exported.withdraw(volume, 'n1', 'a'), {
        code: 'UNAVAILABLE',
      });
    assert.equal(fake.domains[0]?.live.length, 1);
  });

  test('a gateway that ends at any command of publish and withdraw leaves nothing that the next one does not find', async () => {
    const access = accessOf('n1');
    let steps = 0;
    for (let isDone = false; !isDone; steps++) {
      const countdown = createCountdown(steps);
      const fake = createVirsh({ step: countdown.step });
      const domain = fake.add('n1');
      const reopen = () => open({ fake }).exported;
      isDone = await playEnding({ countdown, open: reopen, volume, access, choice: steps });
      assert.deepEqual([...domain.live, ...domain.next], [], `after ${steps} steps`);
    }
    assert.ok(steps > 8, `${steps} steps`);
  });
});

test('disks are counted as the kernel counts them', () => {
  const disks = Array.from({ length: 26 + 26 * 26 }, (): { target: string } => ({ target: '' }));
  for (const disk of disks) disk.target = freeTarget(disks);
  assert.deepEqual(
    [0, 25, 26, 51, 52, 701].map(index => disks[index]?.target),
    ['vda', 'vdz', 'vdaa', 'vdaz', 'vdba', 'vdzz'],
  );
  assert.equal(freeTarget(disks), 'vdaaa');
});

test('a machine without a reachable hypervisor is reported as such', async () => {
  const context = {
    root: '/srv',
    kind: 'file' as const,
    log: createMemoryLog().log,
    poolKey: async () => new Uint8Array(32),
  };
  const settings = libvirt.settings.parse({
    protocol: 'libvirt',
    uri: 'qemu+unix:///system?socket=/nowhere',
  });
  const lacks = (await (await libvirt.open(settings, context)).check?.()) ?? [];
  assert.match(lacks.join(), /virsh is not installed|no hypervisor answers at qemu\+unix:\/\/\/system/);
});
