import * as z from 'zod';
import { preconditionProblem } from '../../../src/api/problem.ts';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { listDisks } from './commands.ts';
import { partTag, tagOptions, timeTag, valueOf } from './names.ts';
import type { LvmPool, PoolReport } from './pool.ts';

/** The maximum time for which the I/O of nodes waits for a group, in milliseconds. */
const maxPauseMs = 1_000;

/**
 * Manages the snapshots of a pool: inactive thin volumes that share blocks with their origin. LVM suspends the origin
 * meanwhile, so a snapshot is of one instant even while a node writes.
 */
export function createSnapshots(pool: LvmPool, pauseMs = maxPauseMs): Required<Snapshots> {
  return {
    parameters: z.strictObject({}),
    async create(snapshot) {
      const taken = await takeKnown(pool, snapshot);
      if (taken) return taken;
      const report = await pool.report();
      if (report.findMade('snapshot', snapshot)) return toCreated(report, snapshot);
      await pool.refresh([report.requireEntry('volume', snapshot.volume)]);
      await take(pool, snapshot);
      return toCreated(await pool.report(), snapshot);
    },
    async createGroup(members) {
      const report = await pool.report();
      if (!isComplete(report, members)) await takeTogether(pool, members, { report, pauseMs });
      const after = await pool.report();
      return members.map(member => toCreated(after, member));
    },
    measure: async volume => (await pool.report()).requireEntry('volume', volume).usedBytes,
    delete: snapshot => pool.remove('snapshot', snapshot),
    async *list() {
      yield* (await pool.report()).ids('snapshot');
    },
  };
}

/**
 * Takes a snapshot of a volume whose disks are known, without a report: LVM refuses a name that is in use. Undefined when
 * it may not have been taken.
 */
async function takeKnown(pool: LvmPool, snapshot: NewSnapshot): Promise<CreatedSnapshot | undefined> {
  const known = pool.known.find(snapshot.volume);
  if (!known) return undefined;
  const createdAtMs = await take(pool, snapshot).catch(() => undefined);
  if (createdAtMs === undefined) return undefined;
  const reservedBytes = await pool.usedBytes(pool.nameOf('volume', snapshot.volume.id));
  if (reservedBytes === undefined) return undefined;
  return { sizeBytes: known.sizeBytes, createdAtMs, ready: true, reservedBytes };
}

/** True when all members of a group were taken at one instant. */
function isComplete(report: PoolReport, members: readonly NewSnapshot[]): boolean {
  return members.every(member => report.findMade('snapshot', member)?.tags.includes(partTag) === false);
}

/**
 * Takes all members while the I/O of nodes waits. Members have a tag until all of them were taken in time, because LVM
 * may finish a command after the gateway was killed, when nodes write again.
 */
async function takeTogether(
  pool: LvmPool,
  members: readonly NewSnapshot[],
  { report, pauseMs }: { readonly report: PoolReport; readonly pauseMs: number },
): Promise<void> {
  const origins = members.map(({ volume }) => report.requireEntry('volume', volume));
  const gates = gatesOf(pool, members);
  await removeAll(pool, members);
  await pool.refresh(origins);
  // A read of another disk could wait for a gate, if this machine is a node as well.
  const disks = await listDisks(pool.group);
  try {
    await pool.gates.whileSuspended(gates, pauseMs, async () => {
      for (const member of members) await take(pool, member, disks);
    });
  } catch (error) {
    await removeAll(pool, members).catch(() => {});
    throw error;
  }
  const operands = members.map(({ id }) => pool.operandOf(pool.nameOf('snapshot', id)));
  await pool.change(['lvchange', '--deltag', partTag, '--', ...operands], 'complete a group of snapshots');
}

/** The gates of the members. FAILED_PRECONDITION when nodes may write to several members, and one has no gate. */
function gatesOf(pool: LvmPool, members: readonly NewSnapshot[]): readonly string[] {
  const gateOf = ({ volume }: NewSnapshot): string => pool.gateOf(pool.nameOf('volume', volume.id));
  const written = members.filter(({ attachedForWriting }) => attachedForWriting);
  const withoutGate = written.find(member => !pool.gates.isOpen(gateOf(member)));
  if (withoutGate && written.length > 1)
    throw preconditionProblem(
      `the gateway cannot hold up writes to volume "${withoutGate.volume.id}", a disk of a virtual machine; detach it first`,
    );
  return written.map(gateOf).filter(gate => pool.gates.isOpen(gate));
}

async function removeAll(pool: LvmPool, members: readonly NewSnapshot[]): Promise<void> {
  for (const member of members) await pool.remove('snapshot', member);
}

/** Takes a snapshot, and returns its time. `disks`: the group's disks, for a member of a group. */
async function take(pool: LvmPool, snapshot: NewSnapshot, disks?: readonly string[]): Promise<number> {
  const { id, nonce, volume } = snapshot;
  const createdAtMs = Date.now();
  const tags = tagOptions('snapshot', { id, nonce, createdAtMs, isPart: disks !== undefined });
  const options = ['--yes', '--snapshot', '--name', pool.nameOf('snapshot', id), ...tags];
  const origin = pool.operandOf(pool.nameOf('volume', volume.id));
  const readOnlyInactive = ['--permission', 'r', '--setactivationskip', 'y', '--', origin];
  await pool.change(['lvcreate', ...options, ...readOnlyInactive], `take snapshot "${id}"`, disks);
  return createdAtMs;
}

/** Reserves the bytes that the volume has taken, because LVM does not tell those of an inactive snapshot. */
function toCreated(report: PoolReport, snapshot: NewSnapshot): CreatedSnapshot {
  const { sizeBytes, tags } = report.requireEntry('snapshot', snapshot);
  const createdAtMs = Number(valueOf(tags, timeTag) ?? 0);
  const reservedBytes = report.find('volume', snapshot.volume)?.usedBytes ?? sizeBytes;
  return { sizeBytes, createdAtMs, ready: true, reservedBytes };
}
