import { preconditionProblem, unavailableProblem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import type { VolumeSource } from '../../../backend.ts';
import { again, exists, invalid, missing } from '../commands.ts';
import { evictionPoll } from '../clients.ts';
import { blocksTimeoutMs } from '../blocks.ts';
import { nameOf, requireSubvolume, type Filesystem, type Subvolume } from './filesystem.ts';
import { snapshotNotesOf } from './notes.ts';

/** The prefix of the temporary snapshots for copies; no other snapshot's name begins with it. */
const copyPrefix = 'copy@';
const copyPoll = { everyMs: 500, timeoutMs: blocksTimeoutMs };

/** Makes a copy, which the cluster does by itself, or continues an unfinished one. */
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
 * Begins a copy. The copy's files are in the pool namespace of its source, so a user of one may read the objects of
 * the other; a copy therefore never leaves its cluster.
 */
async function begin(filesystem: Filesystem, target: Subvolume, source: VolumeSource): Promise<void> {
  const { of, snapshot } = await findSource(filesystem, source, copyPrefix + target.name);
  if (of.group !== target.group)
    throw preconditionProblem(
      'a copy in CephFS shares the pool namespace of its source; create it in the cluster of the source',
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
  const [note] = await snapshotNotesOf(filesystem).find(source.snapshot);
  if (!note) throw preconditionProblem(`snapshot "${source.snapshot.id}" is missing`);
  return { of: note.subvolume, snapshot: nameOf(source.snapshot) };
}

type Status = { readonly status: { readonly state: string } };

async function finish(filesystem: Filesystem, target: Subvolume): Promise<void> {
  const command = ['fs', 'clone', 'status', filesystem.name, target.name, '--group_name', target.group];
  const checkState = async (): Promise<string | undefined> => {
    const { status } = (await filesystem.askCeph<Status>(...command)) ?? {};
    return status?.state === 'pending' || status?.state === 'in-progress'
      ? undefined
      : (status?.state ?? 'gone');
  };
  const state = await poll(checkState, copyPoll);
  if (state === 'failed' || state === 'canceled') await abandonCopy(filesystem, target);
  if (state !== 'complete')
    throw unavailableProblem(
      state === undefined
        ? 'the copy has not ended yet; it continues'
        : `the copy in CephFS ended as "${state}"`,
    );
}

export async function abandonCopy(filesystem: Filesystem, target: Subvolume): Promise<void> {
  const cancel = ['fs', 'clone', 'cancel', filesystem.name, target.name, '--group_name', target.group];
  // EINVAL means that the copy has ended meanwhile.
  await filesystem.ceph(cancel, { fine: [missing, invalid] });
  const remove = async (): Promise<true | undefined> => {
    const order = { verb: 'rm', of: target, args: ['--force'] };
    const { status } = await filesystem.order(order, { fine: [missing, again] });
    return status !== again || undefined;
  };
  if (!(await poll(remove, evictionPoll)))
    throw unavailableProblem('an abandoned copy has not ended yet; try again later');
}

/** Drops the temporary snapshots of copies; true when the subvolume has other snapshots. */
export async function dropCopySnapshots(filesystem: Filesystem, of: Subvolume): Promise<boolean> {
  const { stdout } = await filesystem.order({ verb: 'snapshot ls', of, args: ['--format', 'json'] });
  const names = (JSON.parse(stdout) as readonly { readonly name: string }[]).map(({ name }) => name);
  const temporary = names.filter(name => name.startsWith(copyPrefix));
  for (const name of temporary)
    await filesystem.order({ verb: 'snapshot rm', of, args: [name] }, { fine: [missing] });
  return temporary.length < names.length;
}
