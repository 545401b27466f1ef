import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';
import type { VolumeRef } from '../../backend.ts';
import { requireId } from '../local/files.ts';
import { exists, missing, type Commands } from './commands.ts';

/** A pool of a Ceph cluster, and how images are named in it. */
export type RbdPool = ReturnType<typeof openPool>;

/**
 * An image by its namespace, which is its cluster's, and its name. What has another nonce is another image, so that
 * `rbd create` alone decides who makes one.
 */
export type Image = { readonly namespace: string; readonly name: string };

/** What `rbd info` says of an image. Its id is in the names of all its objects, and no other image ever has it. */
export type ImageInfo = { readonly size: number; readonly id: string; readonly parent?: Parent };
/** One line beside the images of a namespace. */
export type Note = { readonly namespace: string; readonly key: string; readonly text: string };
/** What an image is a clone of. */
export type Parent = { readonly pool: string; readonly pool_namespace?: string; readonly image: string };

const prefix = 'fairlead.';
/** Of an image that was deleted and that snapshots or clones still need, and of snapshots for a moment. No id's name begins so. */
const ownPrefix = '_';
/** Holds no data, and notes about images of its namespace as its metadata. No volume's name is without a dot. */
const notesName = 'notes';

/** Opens it; nothing is done yet. */
export function openPool(name: string, commands: Commands) {
  const { rbd, askRbd } = commands;
  const specOf = ({ namespace, name: image }: Image): string => `${name}/${namespace}/${image}`;
  const notesOf = (namespace: string): string => specOf({ namespace, name: notesName });

  /** Makes a namespace, and what holds its notes; one that is there is fine. */
  async function makeNamespace(namespace: string): Promise<void> {
    await rbd(['namespace', 'create', `${name}/${namespace}`], { fine: [exists] });
    const layout = ['--size', '1M', '--image-feature', 'layering'];
    await rbd(['create', ...layout, notesOf(namespace)], { fine: [exists] });
  }

  async function imagesOf(namespace: string): Promise<readonly string[]> {
    return (await askRbd<readonly string[]>('ls', `${name}/${namespace}`)) ?? [];
  }

  return {
    ...commands,
    name,
    specOf,
    imagesOf,
    makeNamespace,
    /** The namespaces that are this gateway's. */
    async namespaces(): Promise<readonly string[]> {
      const all = (await askRbd<readonly { readonly name: string }[]>('namespace', 'ls', name)) ?? [];
      return all.map(one => one.name).filter(one => one.startsWith(prefix));
    },
    /** The images that a reference names: one, whether it is there or not, or without a nonce all that have the id. */
    async locate({ id, nonce }: VolumeRef): Promise<readonly Image[]> {
      const namespace = namespaceOf(id);
      if (nonce) return [imageOf({ id, nonce })];
      const names = await imagesOf(namespace);
      return names.flatMap(one => (idOf({ namespace, name: one }) === id ? { namespace, name: one } : []));
    },
    /** Undefined for an image that is missing, or of which an interrupted command left a part. */
    inspect: (image: Image): Promise<ImageInfo | undefined> => askRbd<ImageInfo>('info', specOf(image)),
    /** All notes of a namespace, by their keys. */
    async readNotes(namespace: string): Promise<ReadonlyMap<string, string>> {
      const notes = await askRbd<Readonly<Record<string, string>>>('image-meta', 'list', notesOf(namespace));
      return new Map(Object.entries(notes ?? {}));
    },
    async writeNote({ namespace, key, text }: Note): Promise<void> {
      const args = ['image-meta', 'set', notesOf(namespace), key, text];
      if ((await rbd(args, { fine: [missing] })).status === 0) return;
      await makeNamespace(namespace);
      await rbd(args);
    },
    async dropNote({ namespace, key }: Pick<Note, 'namespace' | 'key'>): Promise<void> {
      await rbd(['image-meta', 'remove', notesOf(namespace), key], { fine: [missing] });
    },
  };
}

/** The image of a volume that is there; NOT_FOUND for a missing one. */
export async function requireImage(pool: RbdPool, volume: VolumeRef): Promise<Image> {
  for (const image of await pool.locate(volume)) if (await pool.inspect(image)) return image;
  throw new Problem('NOT_FOUND', `the image of volume "${volume.id}" is missing`);
}

/** The namespace of a volume's or snapshot's cluster; INVALID_ARGUMENT for what is no id. */
export function namespaceOf(id: string, noun: 'volume' | 'snapshot' = 'volume'): string {
  return prefix + clusterOf(requireId(id, noun));
}

/** The image of a volume. */
export function imageOf({ id, nonce }: Required<VolumeRef>): Image {
  return { namespace: namespaceOf(id), name: nameOf({ id, nonce }) };
}

/** What a resource is called in the namespace of its cluster. */
export function nameOf({ id, nonce = '' }: VolumeRef): string {
  return `${id.slice(id.indexOf('.') + 1)}.${nonce}`;
}

/** The id of what has a name, or undefined for what is no volume nor snapshot. */
export function idOf({ namespace, name }: Image): string | undefined {
  const end = name.lastIndexOf('.');
  return end <= 0 || isOwn(name) ? undefined : `${namespace.slice(prefix.length)}.${name.slice(0, end)}`;
}

/** True for the name of what is no volume nor snapshot of anybody. */
export function isOwn(name: string): boolean {
  return name.startsWith(ownPrefix);
}

/** The image of a deleted volume, for as long as something needs it. */
export function deletedOf({ namespace, name }: Image): Image {
  return { namespace, name: ownPrefix + name };
}
