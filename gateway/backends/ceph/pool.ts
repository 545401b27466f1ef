import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';
import type { VolumeRef } from '../../backend.ts';
import { requireId } from '../../local/files.ts';
import { exists, missing, type Commands } from './commands.ts';
import { createSnapshotNotes, type NoteStore } from './notes.ts';

/** A pool of a Ceph cluster, and the names of images in it. */
export type RbdPool = ReturnType<typeof openPool>;

/**
 * An image by its namespace, which belongs to one cluster, and its name. The name contains the nonce, so two records
 * never share an image, and `rbd create` alone decides which call creates it.
 */
export type Image = { readonly namespace: string; readonly name: string };

/** The output of `rbd info`. The id is part of the names of the image's objects, and is never reused. */
export type ImageInfo = { readonly size: number; readonly id: string; readonly parent?: Parent };
/** The content of a snapshot's note: its image, and whether it is complete. */
type SnapshotNote = { readonly image: Image; readonly isWhole: boolean };
export type Parent = { readonly pool: string; readonly pool_namespace?: string; readonly image: string };

const prefix = 'fairlead.';
/**
 * The prefix of images of deleted volumes that snapshots or clones still need, and of temporary snapshots. No
 * resource's name begins with it.
 */
const internalPrefix = '_';
/**
 * The image whose metadata are a namespace's notes; it holds no data. A volume's name has a dot, so no volume has
 * this name.
 */
const notesName = 'notes';

/** Opens a pool without any call to the cluster. */
export function openPool(name: string, commands: Commands) {
  const { rbd, askRbd } = commands;
  const specOf = ({ namespace, name: image }: Image): string => `${name}/${namespace}/${image}`;

  /** Creates a namespace and the image for its notes, unless they exist. */
  async function createNamespace(namespace: string): Promise<void> {
    await rbd(['namespace', 'create', `${name}/${namespace}`], { fine: [exists] });
    const layout = ['--size', '1M', '--image-feature', 'layering'];
    await rbd(['create', ...layout, specOf({ namespace, name: notesName })], { fine: [exists] });
  }

  /** The notes of a namespace, as metadata of their image. */
  function notesOf(namespace: string): NoteStore {
    const spec = specOf({ namespace, name: notesName });
    return {
      async read() {
        const notes = await askRbd<Readonly<Record<string, string>>>('image-meta', 'list', spec);
        return new Map(Object.entries(notes ?? {}));
      },
      async write(key, text) {
        const args = ['image-meta', 'set', spec, key, text];
        if ((await rbd(args, { fine: [missing] })).status === 0) return;
        await createNamespace(namespace);
        await rbd(args);
      },
      drop: async key => void (await rbd(['image-meta', 'remove', spec, key], { fine: [missing] })),
    };
  }

  async function imagesOf(namespace: string): Promise<readonly string[]> {
    return (await askRbd<readonly string[]>('ls', `${name}/${namespace}`)) ?? [];
  }

  return {
    ...commands,
    name,
    specOf,
    imagesOf,
    createNamespace,
    /** Lists the namespaces that belong to this gateway. */
    async namespaces(): Promise<readonly string[]> {
      const all = (await askRbd<readonly { readonly name: string }[]>('namespace', 'ls', name)) ?? [];
      return all.map(one => one.name).filter(one => one.startsWith(prefix));
    },
    /** Finds the images of a reference: with a nonce one, which may be missing, otherwise all that have the id. */
    async locate({ id, nonce }: VolumeRef): Promise<readonly Image[]> {
      const namespace = namespaceOf(id);
      if (nonce) return [imageOf({ id, nonce })];
      const names = await imagesOf(namespace);
      return names.flatMap(one => (idOf({ namespace, name: one }) === id ? { namespace, name: one } : []));
    },
    /** Reads an image's information. Undefined when it is missing, or when an interrupted command left only a part. */
    inspect: (image: Image): Promise<ImageInfo | undefined> => askRbd<ImageInfo>('info', specOf(image)),
    notesOf,
    /** The notes of a namespace's snapshots, which are written again when the snapshot is complete. */
    snapshotNotesOf: (namespace: string) =>
      createSnapshotNotes<SnapshotNote>(notesOf(namespace), {
        prefix: 'snapshot.',
        nameOf,
        idOf: one => idOf({ namespace, name: one }),
      }),
  };
}

/** The notes of all snapshots in the namespace of this one. */
export function snapshotNotesFor(pool: RbdPool, { id }: VolumeRef): ReturnType<RbdPool['snapshotNotesOf']> {
  return pool.snapshotNotesOf(namespaceOf(id, 'snapshot'));
}

/** Finds the image of a volume; NOT_FOUND when it is missing. */
export async function requireImage(pool: RbdPool, volume: VolumeRef): Promise<Image> {
  for (const image of await pool.locate(volume)) if (await pool.inspect(image)) return image;
  throw new Problem('NOT_FOUND', `the image of volume "${volume.id}" is missing`);
}

/** The namespace of the resource's cluster; INVALID_ARGUMENT for an invalid id. */
function namespaceOf(id: string, noun: 'volume' | 'snapshot' = 'volume'): string {
  return prefix + clusterOf(requireId(id, noun));
}

export function imageOf({ id, nonce }: Required<VolumeRef>): Image {
  return { namespace: namespaceOf(id), name: nameOf({ id, nonce }) };
}

export function nameOf({ id, nonce = '' }: VolumeRef): string {
  return `${id.slice(id.indexOf('.') + 1)}.${nonce}`;
}

/** The id of a resource by its name; undefined for other names. */
export function idOf({ namespace, name }: Image): string | undefined {
  const end = name.lastIndexOf('.');
  return end <= 0 || isInternal(name) ? undefined : `${namespace.slice(prefix.length)}.${name.slice(0, end)}`;
}

/** True for a name that the gateway uses for itself, and no volume or snapshot has. */
export function isInternal(name: string): boolean {
  return name.startsWith(internalPrefix);
}

/** The name of an image after its volume is deleted, for as long as snapshots or clones need it. */
export function deletedOf({ namespace, name }: Image): Image {
  return { namespace, name: internalPrefix + name };
}
