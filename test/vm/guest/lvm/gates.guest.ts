import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createCommands } from '../../../../gateway/backends/lvm/commands.ts';
import { openPool } from '../../../../gateway/backends/lvm/pool.ts';
import { createSnapshots } from '../../../../gateway/backends/lvm/snapshots.ts';
import type { KnownVolume, NewSnapshot } from '../../../../gateway/backend.ts';
import { directoryOf } from '../../../harness/machine.ts';
import { seed } from '../../../harness/sample.ts';
import { idsOf, newSnapshot } from '../../../suites/backend-fixtures.ts';
import { accessOf, openExportedPool, withoutCommands } from '../../targets/exported.ts';
import { gateOf, lvm, makeThinPool, makeThinVolume, type ThinPoolName } from '../../targets/thin-pool.ts';
import { undoLast } from '../../targets/undo.ts';
import { MiB, startGuestNode } from '../agent.ts';

const capability = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
/** Emulated processors make LVM slow. */
const patientMs = 600_000;

/** Opens a pool over NVMe, and volumes of it on a node. */
async function openVolumes(t: TestContext, names: readonly string[]) {
  const place = makeThinPool(t, { sizeMiB: 256 });
  const pool = await openExportedPool(t, 'nvme-tcp', place);
  const node = await startGuestNode(t);
  const volumes: KnownVolume[] = [];
  const paths: string[] = [];
  for (const name of names) {
    const volume = await pool.makeVolume(`c.${name}`, 8);
    const { attachment, secrets } = await pool.attach(volume, accessOf('n1', 'block'));
    const fields = { ...node.volumeAt({ name, attachment, capability }), secrets };
    await node.bringUp(fields);
    undoLast(t, async () => {
      await node.takeDown(fields);
      await pool.backend.detach(volume, 'n1', 'c');
    });
    volumes.push(volume);
    paths.push(fields.target_path);
  }
  return { place, pool, volumes, paths, lockPath: join(directoryOf(t), 'commands') };
}

/** Lists the gates of this machine that are suspended. */
function suspended(): readonly string[] {
  const columns = ['--columns', '--noheadings', '--separator', ' ', '--options', 'name,suspended'];
  return execFileSync('dmsetup', ['info', ...columns], { encoding: 'utf8' })
    .split('\n')
    .filter(line => line.endsWith('-gate Suspended'));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20);
}

/** Writes a counter by turns to two volumes of a node, each time durably. */
function startTurns(t: TestContext, paths: readonly string[]): ChildProcess {
  const program = fileURLToPath(new URL('turns.ts', import.meta.url));
  const writer = spawn(process.execPath, [program, ...paths], { stdio: ['ignore', 'ignore', 'inherit'] });
  undoLast(t, async () => {
    const ended = once(writer, 'exit');
    writer.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
  });
  return writer;
}

function counterAt(path: string): number {
  const file = openSync(path, 'r');
  const buffer = Buffer.alloc(4_096);
  readSync(file, buffer, 0, buffer.length, 0);
  closeSync(file);
  return Number(buffer.readBigUInt64LE());
}

/** Reads the counters of two snapshots, and fails unless they are of one instant. */
function countersOf({ group }: ThinPoolName, members: readonly NewSnapshot[]): number {
  const [first = 0, second = 0] = members.map(({ id }) => {
    const operand = `${group}/fairlead.snapshot.${id}`;
    lvm('lvchange', '--activate', 'y', '--ignoreactivationskip', operand);
    const counter = counterAt(`/dev/${operand}`);
    lvm('lvchange', '--activate', 'n', operand);
    return counter;
  });
  assert.ok(first > 0 && (second === first || second === first - 1), `${first}, then ${second}`);
  return second;
}

const membersOf = (volumes: readonly KnownVolume[], name: string): readonly NewSnapshot[] =>
  volumes.map((volume, index) => newSnapshot(`c.${name}-${index}`, volume, true));

test('a group of snapshots is of one instant while a program writes its volumes by turns, and the program goes on', async t => {
  const { place, pool, volumes, paths, lockPath } = await openVolumes(t, ['one', 'two']);
  const patient = createSnapshots(openPool(place, createCommands(place, lockPath)), patientMs);
  startTurns(t, paths);
  await until(() => counterAt(paths[1] ?? '') > 5);
  let last = 0;
  for (let round = 0; round < 3; round++) {
    const members = membersOf(volumes, `round${round}`);
    const taken = await patient.createGroup(members);
    assert.deepEqual(await patient.createGroup(members), taken);
    const counter = countersOf(place, members);
    t.diagnostic(`round ${round}: ${counter}`);
    assert.ok(counter > last, `${counter} after ${last}`);
    last = counter;
  }
  const late = createSnapshots(openPool(place, createCommands(place, lockPath)), 50);
  const before = await idsOf(pool.backend.snapshots);
  await assert.rejects(late.createGroup(membersOf(volumes, 'late')), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await idsOf(pool.backend.snapshots), before);
  assert.deepEqual(suspended(), []);
});

test('a gateway that is killed while the I/O of a group waits leaves no gate suspended, and the next attempt is of one instant', async t => {
  const { place, pool, volumes, paths, lockPath } = await openVolumes(t, ['one', 'two']);
  const patient = createSnapshots(openPool(place, createCommands(place, lockPath)), patientMs);
  startTurns(t, paths);
  const program = fileURLToPath(new URL('group.ts', import.meta.url));
  for (let round = 0; round < 4; round++) {
    const members = membersOf(volumes, `kill${round}`);
    const args = [program, JSON.stringify(place), JSON.stringify(members), lockPath];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    const ended = once(child, 'exit');
    await until(() => suspended().length > 0);
    await sleep(((seed >> round) % 8) * 250);
    child.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    if (round % 2 === 0) await until(() => suspended().length === 0);
    else {
      // As when the whole machine's memory is short: the process that resumes them is killed as well.
      for (const pid of guards()) process.kill(pid, 'SIGKILL');
      await pool.reopen();
      assert.deepEqual(suspended(), []);
    }
    // The next gateway waits for the end of the command of LVM.
    execFileSync('flock', [lockPath, 'true']);
    await patient.createGroup(members);
    countersOf(place, members);
  }
});

/** Lists the processes that suspend gates. */
function guards(): readonly number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .filter(line => line.includes('dmsetup suspend') || line.endsWith(' cat'))
    .map(line => Number.parseInt(line, 10));
}

test('a gate grows with its volume, LVM ignores data that is written to it, and it ends with its volume', async t => {
  const { place, pool } = await openVolumes(t, []);
  const volume = await pool.makeVolume('c.volume', 8);
  await pool.attach(volume, accessOf('n2', 'block'));
  const gate = gateOf(pool.pathOf(volume.id));
  await pool.backend.expand(volume, { requiredBytes: 16 * MiB, limitBytes: 0 });
  const size = execFileSync('blockdev', ['--getsize64', gate], { encoding: 'utf8' });
  assert.equal(Number(size), 16 * MiB);
  const disks = ['pvs', '--noheadings', '--options', 'pv_name'];
  const before = lvm(...disks);
  const disk = lvm(...disks, '--select', `vg_name=${place.group}`).trim();
  execFileSync('dd', [`if=${disk}`, `of=${gate}`, 'bs=1M', 'count=1', 'oflag=direct'], { stdio: 'pipe' });
  assert.equal(lvm(...disks), before);
  await pool.backend.detach(volume, 'n2', 'c');
  assert.ok(existsSync(gate));
  await pool.backend.delete(volume);
  assert.ok(!existsSync(gate));
});

test('a volume is attached without any command while its devices are the same, and another one with its name only if it is tagged', async t => {
  const { place, pool } = await openVolumes(t, []);
  const volume = await pool.makeVolume('c.volume', 8);
  const attach = () => pool.attach(volume, accessOf('n1'));
  await withoutCommands(attach);
  await pool.backend.detach(volume, 'n1', 'c');
  const [name, path] = [`${place.group}/fairlead.volume.c.volume`, makeThinVolume(place, 'restored')];
  lvm('lvextend', '--size', '8m', `${place.group}/restored`);
  execFileSync('dd', [`of=${path}`, 'bs=4096', 'oflag=direct'], { input: Buffer.alloc(4_096, 'restored') });
  lvm('lvrename', name, 'kept');
  lvm('lvrename', `${place.group}/restored`, name);
  await assert.rejects(attach(), { code: 'FAILED_PRECONDITION', message: /is missing/ });
  lvm('lvchange', '--addtag', 'fairlead.volume=c.volume', name);
  await attach();
  assert.match(readFileSync(gateOf(pool.pathOf(volume.id)), 'latin1').slice(0, 8), /^restored$/);
  await pool.backend.detach(volume, 'n1', 'c');
});
