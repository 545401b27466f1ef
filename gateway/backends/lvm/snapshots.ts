import * as z from 'zod';
import { preconditionProblem } from '../../../src/api/problem.ts';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { partTag, reservedIn, tagOptions } from './names.ts';
import type { LvmPool, PoolReport, ThinVolume } from './pool.ts';
import { requireVolume } from './volumes.ts';

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
      const { id, nonce } = snapshot;
      const report = await pool.report();
      const made = report.findMade('snapshot', { id, nonce });
      if (made) return toCreated(made);
      const origin = requireVolume(report, snapshot.volume);
      await pool.resume([origin]);
      await take(pool, { snapshot, origin });
      return toCreated(requireVolume(await pool.report(), snapshot, 'snapshot'));
    },
    async createGroup(members) {
      const report = await pool.report();
      if (!isComplete(report, members)) await takeTogether(pool, members, { report, pauseMs });
      const after = await pool.report();
      return members.map(member => toCreated(requireVolume(after, member, 'snapshot')));
    },
    measure: async volume => requireVolume(await pool.report(), volume).usedBytes,
    delete: snapshot => pool.remove('snapshot', snapshot),
    list: () => pool.list('snapshot'),
  };
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
  const plans = members.map(snapshot => ({ snapshot, origin: requireVolume(report, snapshot.volume) }));
  const gates = gatesOf(pool, members);
  await removeAll(pool, members);
  await pool.resume(plans.map(({ origin }) => origin));
  // A read of another disk could wait for a gate, if this machine is a node as well.
  const disks = await pool.disks();
  try {
    await pool.gates.whileSuspended(gates, pauseMs, async () => {
      for (const plan of plans) await take(pool, { ...plan, disks });
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
  const bare = written.find(member => !pool.gates.isOpen(gateOf(member)));
  if (bare && written.length > 1)
    throw preconditionProblem(
      `the gateway cannot hold up writes to volume "${bare.volume.id}", a disk of a virtual machine; detach it first`,
    );
  return members.map(gateOf).filter(gate => pool.gates.isOpen(gate));
}

async function removeAll(pool: LvmPool, members: readonly NewSnapshot[]): Promise<void> {
  for (const member of members) await pool.remove('snapshot', member);
}

/** `disks`: the group's disks, for a member of a group. */
type SnapshotPlan = {
  readonly snapshot: NewSnapshot;
  readonly origin: ThinVolume;
  readonly disks?: readonly string[];
};

async function take(pool: LvmPool, { snapshot, origin, disks }: SnapshotPlan): Promise<void> {
  const { id, nonce } = snapshot;
  const tags = tagOptions('snapshot', {
    id,
    nonce,
    reservedBytes: origin.usedBytes,
    isPart: disks !== undefined,
  });
  const options = ['--yes', '--snapshot', '--name', pool.nameOf('snapshot', id), ...tags];
  const still = ['--permission', 'r', '--setactivationskip', 'y', '--', pool.operandOf(origin.name)];
  await pool.change(['lvcreate', ...options, ...still], `take snapshot "${id}"`, disks);
}

function toCreated({ sizeBytes, createdAtMs, tags }: ThinVolume): CreatedSnapshot {
  const reservedBytes = reservedIn(tags);
  return { sizeBytes, createdAtMs, ready: true, ...(reservedBytes !== undefined && { reservedBytes }) };
}
