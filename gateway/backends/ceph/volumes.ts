import { preconditionProblem } from '../../../src/api/problem.ts';
import { parseJson } from '../../../src/lib/json.ts';
import type { Backend, NewVolume } from '../../backend.ts';
import { forgetClients, readClients, rememberClients } from './clients.ts';
import { busy, exists, filled, missing } from './commands.ts';
import { features, fill } from './copies.ts';
import { blocksTimeoutMs, reap } from './blocks.ts';
import {
  idOf,
  imageOf,
  isInternal,
  deletedOf,
  requireImage,
  type Image,
  type Parent,
  type RbdPool,
} from './pool.ts';

const mebibyte = 2 ** 20;

export function createVolumes(
  pool: RbdPool,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'volumeHealth' | 'list'>> {
  return {
    async create(volume) {
      const image = imageOf(volume);
      if (volume.source) await fill(pool, image, volume.source);
      else await createEmpty(pool, image, volume);
      return { sizeBytes: await grow(pool, image, volume.requiredBytes) };
    },

    async expand(volume, { requiredBytes }) {
      const image = await requireImage(pool, volume);
      await rememberClients(pool, image);
      return { sizeBytes: await grow(pool, image, requiredBytes), nodeExpansionRequired: true };
    },

    async delete(volume) {
      for (const image of await pool.locate(volume)) await remove(pool, image, volume.id);
    },

    async volumeHealth(volume) {
      const found = await Promise.all((await pool.locate(volume)).map(pool.inspect));
      if (found.some(Boolean)) return [];
      const message = `the image of volume "${volume.id}" is missing`;
      return [{ status: 'DATA_LOSS', reason: 'ImageMissing', message }];
    },

    async *list() {
      for (const namespace of await pool.namespaces()) {
        const ids = (await pool.imagesOf(namespace)).map(name => idOf({ namespace, name }));
        yield* new Set(ids.filter(id => id !== undefined));
      }
    },
  };
}

/** Creates an empty image. `rbd create` creates a whole image or none, except that a killed one may leave a part. */
async function createEmpty(pool: RbdPool, image: Image, { requiredBytes }: NewVolume): Promise<void> {
  const spec = pool.specOf(image);
  const args = ['create', ...features, '--size', sizeText(requiredBytes), spec];
  const result = await pool.rbd(args, { fine: [missing, exists] });
  if (result.status === 0 || (result.status === exists && (await pool.inspect(image)))) return;
  if (result.status === missing) await pool.createNamespace(image.namespace);
  else await pool.rbd(['rm', '--no-progress', spec], { fine: [missing] });
  await pool.rbd(args);
}

/** Grows an image that is smaller than required, and returns its size. */
async function grow(pool: RbdPool, image: Image, requiredBytes: number): Promise<number> {
  const { size = 0 } = (await pool.inspect(image)) ?? {};
  if (size >= requiredBytes) return size;
  const option = ['--size', sizeText(requiredBytes)];
  await pool.rbd(['resize', '--no-progress', ...option, pool.specOf(image)]);
  return (await pool.inspect(image))?.size ?? 0;
}

function sizeText(bytes: number): string {
  return `${Math.ceil(bytes / mebibyte)}M`;
}

/**
 * Removes a volume's image. An image that snapshots or clones still need is renamed at once, and removed with the
 * last of them. FAILED_PRECONDITION while a client has it open: `rbd rm` would take the lock from a client that
 * writes, and its I/O would fail.
 */
async function remove(pool: RbdPool, image: Image, id: string): Promise<void> {
  const spec = pool.specOf(image);
  const inUse = preconditionProblem(`volume "${id}" is still in use by a node`);
  if ((await readClients(pool, image)).watchers.length > 0) throw inUse;
  const info = await pool.inspect(image);
  const origin = info?.parent;
  if (origin) await noteOrigin(pool, image, origin);
  const { status } = await pool.rbd(['rm', '--no-progress', spec], {
    fine: [missing, busy, filled],
    timeoutMs: blocksTimeoutMs,
  });
  if (status === busy) throw inUse;
  if (status === filled) await pool.rbd(['rename', spec, pool.specOf(deletedOf(image))]);
  if (status !== 0) await reap(pool, deletedOf(image));
  if (origin || !info) await reapOrigin(pool, image);
  // Even an image that no node ever had may have a client record, from a killed command of this gateway.
  await forgetClients(pool, image);
}

/**
 * Records the source of a clone under the name that it has once its volume is deleted. An image whose `rbd rm` was
 * interrupted no longer reports its source.
 */
async function noteOrigin(pool: RbdPool, image: Image, parent: Parent): Promise<void> {
  const { pool_namespace: namespace = '', image: name } = parent;
  const origin = isInternal(name) ? { namespace, name } : deletedOf({ namespace, name });
  await pool.notesOf(image.namespace).write(originOf(image), JSON.stringify(origin));
}

async function reapOrigin(pool: RbdPool, image: Image): Promise<void> {
  const [notes, key] = [pool.notesOf(image.namespace), originOf(image)];
  const text = (await notes.read()).get(key);
  if (text === undefined) return;
  await reap(pool, parseJson(text) as Image);
  await notes.drop(key);
}

function originOf({ name }: Image): string {
  return `origin.${name}`;
}
