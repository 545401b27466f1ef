import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { contentOf, idsOf, makeVolume, newSnapshot, takeSnapshot } from '../../../suites/backend-fixtures.ts';
import { defineEmptyDomain, disksOf, virsh } from '../../hypervisor/domain.ts';
import { accessOf, makeDevices, openPoolWith } from '../../targets/exported.ts';
import { undoLast } from '../../targets/undo.ts';
import { MiB } from '../agent.ts';

const script = fileURLToPath(new URL('../../hypervisor/libvirtd.sh', import.meta.url));
const name = 'empty';

/** Starts libvirt with a machine that has no system. */
async function startMachine(t: TestContext): Promise<void> {
  const directory = '/scratch/libvirt';
  mkdirSync(directory);
  const child = spawn('sh', [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  assert.equal(line, 'ready');
  undoLast(t, () => child.kill());
  defineEmptyDomain(directory, name);
  virsh('start', '--', name);
  undoLast(t, () => virsh('undefine', '--', name));
}

/** Writes a letter durably to the first 4 KiB of the machine's disk by QEMU, as a system of the machine would. */
function writeInMachine(letter: string): void {
  const [alias = ''] = disksOf([name]).map(found => found.split("'")[1]);
  const disk = `/machine/peripheral/${alias}/virtio-backend`;
  const write = `qemu-io -d ${disk} "write -f -P ${letter.charCodeAt(0)} 0 4k"`;
  // The answer is empty unless there is an error.
  assert.equal(virsh('qemu-monitor-command', '--hmp', '--', name, write).trim(), '');
}

/** Returns the size of the machine's disk in bytes. */
function sizeInMachine(): number {
  const [, target = ''] = /<target dev='(vd\w+)'/.exec(virsh('dumpxml', '--', name)) ?? [];
  return Number(/^Capacity: +(\d+)$/m.exec(virsh('domblkinfo', '--', name, target))?.[1]);
}

test('a device is the disk of a virtual machine, grows and is copied while it is in use, and is free once the machine is off', async t => {
  await startMachine(t);
  const { backend, ...pool } = await openPoolWith(
    t,
    { protocol: 'libvirt', fence: 'power' },
    makeDevices(t, 256),
  );
  const volume = await pool.makeVolume('c.one', 8);
  await pool.attach(volume, accessOf(name, 'block'));
  const content = contentOf(pool.pathOf);
  const read = (id: string): string => Buffer.from(content.read(id, 0, 4)).toString();
  writeInMachine('a');
  assert.equal(read(volume.id), 'aaaa');
  await backend.expand(volume, { requiredBytes: 16 * MiB, limitBytes: 0 });
  assert.equal(sizeInMachine(), 16 * MiB);
  const snapshot = await takeSnapshot(
    backend,
    newSnapshot('c.snapshot', { ...volume, sizeBytes: 16 * MiB }, true),
  );
  writeInMachine('b');
  const copy = await makeVolume(backend, { id: 'c.copy', source: { kind: 'snapshot', snapshot } });
  assert.deepEqual([read(volume.id), read(copy.id)], ['bbbb', 'aaaa']);
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION' });
  // A machine without a system releases no disk.
  await backend.detach(volume, name, 'c');
  assert.equal(virsh('domstate', '--', name).trim(), 'shut off');
  assert.deepEqual(disksOf([name]), []);
  await backend.delete(copy);
  await backend.snapshots.delete(snapshot);
  await backend.delete(volume);
  assert.deepEqual(await idsOf(backend), []);
});
