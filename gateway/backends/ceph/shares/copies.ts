import { preconditionProblem, unavailableProblem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import type { VolumeSource } from '../../../backend.ts';
import { again, exists, invalid, missing } from '../commands.ts';
import { gone } from '../clients.ts';
import { blocksTimeoutMs } from '../blocks.ts';
import { nameOf, requireSubvolume, type Filesystem, type Subvolume } from './filesystem.ts';
import { readNotes, takenIn } from './notes.ts';

/** Of a snapshot that is there while a volume is copied. No snapshot of anybody has a name that begins so. */
const copyPrefix = 'copy@';
const copying = { everyMs: 500, timeoutMs: blocksTimeoutMs };

/** Makes a copy, which the cluster does by itself, and goes on with what an earlier try began. */
export async function copy(filesystem: Filesystem, target: Subvolume, source: VolumeSource): Promise<void> {
  const { state } = await filesystem.inspect(target);
  if (state === 'missing') await begin(filesystem, target, source);
  if (state !== 'complete') await finish(filesystem, target);
  if (source.kind === 'snapshot') return;
  const args = [copyPrefix + target.name];
  for (const of of await filesystem.locate(source.volume))
    await filesystem.order({ verb: 'snapshot rm', of, args }, { fine: [missing] });
}

/**
 * The files of a copy are in the namespace of what it was made from, so that who may use the one may read the other's objects:
 * that is never another cluster's.
 */
async function begin(filesystem: Filesystem, target: Subvolume, source: VolumeSource): Promise<void> {
  const { of, snapshot } = await findSource(filesystem, source, copyPrefix + target.name);
  if (of.group !== target.group)
    throw preconditionProblem(
      'a copy in CephFS shares its pool namespace with what it was made from, and stays in its cluster',
    );
  if (source.kind === 'volume') await filesystem.order({ verb: 'snapshot create', of, args: [snapshot] });
  const args = [snapshot, target.name, '--target_group_name', target.group];
  await filesystem.order({ verb: 'snapshot clone', of, args }, { fine: [exists] });
}

async function findSource(filesystem: Filesystem, source: VolumeSource, copySnapshot: string) {
  if (source.kind === 'volume') {
    const { subvolume: of } = await requireSubvolume(filesystem, source.volume);
    return { of, snapshot: copySnapshot };
  }
  const [taken] = takenIn(await readNotes(filesystem), source.snapshot);
  if (!taken) throw preconditionProblem(`snapshot "${source.snapshot.id}" is missing`);
  return { of: taken.subvolume, snapshot: nameOf(source.snapshot) };
}

type Status = { readonly status: { readonly state: string } };

async function finish(filesystem: Filesystem, target: Subvolume): Promise<void> {
  const asked = ['fs', 'clone', 'status', filesystem.name, target.name, '--group_name', target.group];
  const look = async (): Promise<string | undefined> => {
    const { status } = (await filesystem.askCeph<Status>(...asked)) ?? {};
    return status?.state === 'pending' || status?.state === 'in-progress'
      ? undefined
      : (status?.state ?? 'gone');
  };
  const state = await poll(look, copying);
  if (state === 'failed' || state === 'canceled') await abandonCopy(filesystem, target);
  if (state !== 'complete') throw unavailableProblem(`the copy is ${state ?? 'still being made'}`);
}

/** Removes what is there of a copy that was not finished. */
export async function abandonCopy(filesystem: Filesystem, target: Subvolume): Promise<void> {
  const cancel = ['fs', 'clone', 'cancel', filesystem.name, target.name, '--group_name', target.group];
  // Invalid: it has ended meanwhile.
  await filesystem.ceph(cancel, { fine: [missing, invalid] });
  const look = async (): Promise<true | undefined> => {
    const order = { verb: 'rm', of: target, args: ['--force'] };
    const { status } = await filesystem.order(order, { fine: [missing, again] });
    return status !== again || undefined;
  };
  if (!(await poll(look, gone))) throw unavailableProblem('a copy that was being made has not ended yet');
}

/** Drops what copies left; true when other snapshots are there. */
export async function dropCopySnapshots(filesystem: Filesystem, of: Subvolume): Promise<boolean> {
  const { stdout } = await filesystem.order({ verb: 'snapshot ls', of, args: ['--format', 'json'] });
  const names = (JSON.parse(stdout) as readonly { readonly name: string }[]).map(({ name }) => name);
  const left = names.filter(name => name.startsWith(copyPrefix));
  for (const name of left)
    await filesystem.order({ verb: 'snapshot rm', of, args: [name] }, { fine: [missing] });
  return left.length < names.length;
}
