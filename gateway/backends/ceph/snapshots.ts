import { z } from 'zod';
import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { rememberClients } from './clients.ts';
import { exists, missing } from './commands.ts';
import { deletedOf, nameOf, requireImage, type Image, type RbdPool } from './pool.ts';
import { drop, findTaken, listTaken, note } from './taken.ts';

const tries = 3;

type Member = { readonly asked: NewSnapshot; readonly image: Image };

/**
 * The snapshots of a pool, which are those of the images themselves. (A snapshot of an `rbd group` can be neither cloned nor deleted
 * by itself before Ceph 19.)
 */
export function createSnapshots(pool: RbdPool): Snapshots {
  async function createGroup(asked: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]> {
    const found = await Promise.all(asked.map(one => findTaken(pool, one)));
    const isWhole = found.every(([one]) => one?.isWhole);
    if (!isWhole) {
      // Members of an earlier try that did not end were taken at another time.
      for (const one of asked) await dropAll(one);
      await takeTogether(pool, asked);
    }
    return Promise.all(asked.map(one => describe(pool, one)));
  }

  async function dropAll(ref: Pick<NewSnapshot, 'id' | 'nonce'>): Promise<void> {
    for (const taken of await findTaken(pool, ref)) await drop(pool, ref, taken);
  }

  async function takeTogether(_: RbdPool, asked: readonly NewSnapshot[]): Promise<void> {
    const members: Member[] = [];
    for (const one of asked) members.push({ asked: one, image: await requireImage(pool, one.volume) });
    for (let count = 0; count < tries; count++) {
      for (const member of members) await take(pool, member);
      if (await isOnePoint(pool, members)) {
        for (const { asked: one, image } of members) await note(pool, one, { image, isWhole: true });
        return;
      }
      for (const one of asked) await dropAll(one);
    }
    throw preconditionProblem(
      `volumes "${asked.map(({ volume }) => volume.id).join('", "')}" are written while their snapshots are taken`,
    );
  }

  return {
    parameters: z.strictObject({}),
    createGroup,
    async create(snapshot) {
      const [made] = await createGroup([snapshot]);
      if (!made) throw new Error('no snapshot was made');
      return made;
    },
    delete: dropAll,
    async *list() {
      for (const namespace of await pool.namespaces()) yield* await listTaken(pool, namespace);
    },
  };
}

async function take(pool: RbdPool, { asked, image }: Member): Promise<void> {
  await note(pool, asked, { image, isWhole: false });
  await rememberClients(pool, image);
  await takeNow(pool, image, nameOf(asked));
}

async function takeNow(pool: RbdPool, image: Image, name: string): Promise<void> {
  await pool.rbd(['snap', 'create', '--no-progress', `${pool.specOf(image)}@${name}`], { fine: [exists] });
}

/**
 * True when nothing was written to any member between its own snapshot and the last one. What nobody has open for writing is not;
 * of the others it is proved by what they hold now.
 */
async function isOnePoint(pool: RbdPool, members: readonly Member[]): Promise<boolean> {
  const written = members.filter(({ asked }) => asked.attachedForWriting).slice(0, -1);
  const probes = written.map(({ asked, image }) => {
    const name = nameOf(asked);
    return { image, name, probe: `_check.${name}` };
  });
  const dropProbes = async (): Promise<void> => {
    for (const { image, probe } of probes)
      await pool.rbd(['snap', 'rm', '--no-progress', `${pool.specOf(image)}@${probe}`], { fine: [missing] });
  };
  await dropProbes();
  for (const { image, probe } of probes) await takeNow(pool, image, probe);
  let isStill = true;
  for (const { image, name, probe } of probes) {
    const args = ['diff', '--from-snap', name, `${pool.specOf(image)}@${probe}`];
    isStill &&= (await pool.askRbd<readonly object[]>(...args))?.length === 0;
  }
  await dropProbes();
  return isStill;
}

type Shown = { readonly name: string; readonly size: number; readonly timestamp: string };

async function describe(pool: RbdPool, asked: NewSnapshot): Promise<CreatedSnapshot> {
  const [taken] = await findTaken(pool, asked);
  for (const image of taken ? [taken.image, deletedOf(taken.image)] : []) {
    const all = (await pool.askRbd<readonly Shown[]>('snap', 'ls', pool.specOf(image))) ?? [];
    const shown = all.find(({ name }) => name === taken?.name);
    if (shown)
      return { sizeBytes: shown.size, createdAtMs: Date.parse(`${shown.timestamp} UTC`), ready: true };
  }
  throw unavailableProblem(`snapshot "${asked.id}" was removed while it was taken`);
}
