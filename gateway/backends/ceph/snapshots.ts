import * as z from 'zod';
import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { createAsGroup } from '../../local/copies.ts';
import { reap } from './blocks.ts';
import { forgetClients, rememberClients } from './clients.ts';
import { exists, missing } from './commands.ts';
import { deletedOf, nameOf, requireImage, snapshotNotesFor, type Image, type RbdPool } from './pool.ts';

const tries = 3;

type Snapshot = { readonly name: string; readonly image: Image };
type Member = { readonly request: NewSnapshot; readonly image: Image };

/**
 * Manages a pool's snapshots as snapshots of its images. It uses no `rbd group`, because before Ceph 19 a snapshot of
 * a group can be neither cloned nor deleted by itself.
 */
export function createSnapshots(pool: RbdPool): Snapshots {
  async function createGroup(requests: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]> {
    const notes = await Promise.all(requests.map(one => snapshotNotesFor(pool, one).find(one)));
    const isComplete = notes.every(([one]) => one?.isWhole);
    if (!isComplete) {
      // Members of an earlier, unfinished try are of another time.
      for (const one of requests) await dropAll(one);
      await takeTogether(requests);
    }
    return Promise.all(requests.map(one => describe(pool, one)));
  }

  async function dropAll(ref: Pick<NewSnapshot, 'id' | 'nonce'>): Promise<void> {
    for (const entry of await snapshotNotesFor(pool, ref).find(ref)) {
      await removeSnapshot(pool, entry);
      await snapshotNotesFor(pool, ref).drop(entry);
    }
  }

  async function takeTogether(requests: readonly NewSnapshot[]): Promise<void> {
    const members: Member[] = [];
    for (const one of requests) members.push({ request: one, image: await requireImage(pool, one.volume) });
    for (let count = 0; count < tries; count++) {
      for (const member of members) await take(pool, member);
      if (await isOnePoint(pool, members)) {
        for (const { request: one, image } of members)
          await snapshotNotesFor(pool, one).write(one, { image, isWhole: true });
        return;
      }
      for (const one of requests) await dropAll(one);
    }
    throw preconditionProblem(
      `volumes "${requests.map(({ volume }) => volume.id).join('", "')}" were written while their snapshots were taken; pause the writers and try again`,
    );
  }

  return {
    parameters: z.strictObject({}),
    createGroup,
    create: createAsGroup(createGroup),
    delete: dropAll,
    async *list() {
      for (const namespace of await pool.namespaces()) yield* await pool.snapshotNotesOf(namespace).ids();
    },
  };
}

async function take(pool: RbdPool, { request, image }: Member): Promise<void> {
  await snapshotNotesFor(pool, request).write(request, { image, isWhole: false });
  await rememberClients(pool, image);
  await takeNow(pool, image, nameOf(request));
}

/**
 * Removes a snapshot, and its volume's image if the volume is deleted and nothing else needs the image. Records the
 * image's clients first, because `rbd snap rm` takes its lock.
 */
async function removeSnapshot(pool: RbdPool, { name, image }: Snapshot): Promise<void> {
  const remove = (one: Image) =>
    pool.rbd(['snap', 'rm', '--no-progress', `${pool.specOf(one)}@${name}`], { fine: [missing] });
  await rememberClients(pool, image);
  const { status } = await remove(image);
  // The volume may have been deleted after the clients were recorded.
  if (status === missing && !(await pool.inspect(image))) await forgetClients(pool, image);
  await remove(deletedOf(image));
  await reap(pool, deletedOf(image));
}

async function takeNow(pool: RbdPool, image: Image, name: string): Promise<void> {
  await pool.rbd(['snap', 'create', '--no-progress', `${pool.specOf(image)}@${name}`], { fine: [exists] });
}

/**
 * True when no member was written between its own snapshot and the last one. A member that no node has open for
 * writing was not. The others are compared with a second snapshot, taken now.
 */
async function isOnePoint(pool: RbdPool, members: readonly Member[]): Promise<boolean> {
  const written = members.filter(({ request }) => request.attachedForWriting).slice(0, -1);
  const probes = written.map(({ request, image }) => {
    const name = nameOf(request);
    return { image, name, probe: `_check.${name}` };
  });
  const dropProbes = async (): Promise<void> => {
    for (const { image, probe } of probes)
      await pool.rbd(['snap', 'rm', '--no-progress', `${pool.specOf(image)}@${probe}`], { fine: [missing] });
  };
  await dropProbes();
  for (const { image, probe } of probes) await takeNow(pool, image, probe);
  let isUnchanged = true;
  for (const { image, name, probe } of probes) {
    const args = ['diff', '--from-snap', name, `${pool.specOf(image)}@${probe}`];
    isUnchanged &&= (await pool.askRbd<readonly object[]>(...args))?.length === 0;
  }
  await dropProbes();
  return isUnchanged;
}

type SnapshotInfo = { readonly name: string; readonly size: number; readonly timestamp: string };

async function describe(pool: RbdPool, request: NewSnapshot): Promise<CreatedSnapshot> {
  const [entry] = await snapshotNotesFor(pool, request).find(request);
  for (const image of entry ? [entry.image, deletedOf(entry.image)] : []) {
    const all = (await pool.askRbd<readonly SnapshotInfo[]>('snap', 'ls', pool.specOf(image))) ?? [];
    const info = all.find(({ name }) => name === entry?.name);
    if (info) return { sizeBytes: info.size, createdAtMs: Date.parse(`${info.timestamp} UTC`), ready: true };
  }
  throw unavailableProblem(`snapshot "${request.id}" was removed while it was taken`);
}
