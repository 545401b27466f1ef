import { Problem, toPage, type PageAsked } from 'fairlead/vendor';
import type { Ceph, Image } from './ceph.ts';

/** What is remembered of a resource, and the text that it is kept as. */
export type Found<T> = { readonly value: T; readonly text: string };
/** What Ceph itself has no place for. */
export type Records = ReturnType<typeof openRecords>;

/**
 * The names that callers gave, and the attachments, kept in Ceph. A record is an RBD namespace: the dashboard lists these
 * as they are, but images as they were up to 30 seconds ago. In it is an image without bytes, whose first snapshot has
 * the record's value for a name. Renaming a snapshot fails when it has another name by now: of two changes at a time
 * one is made, whoever asks for them.
 */
export function openRecords({ send, get, settle, find, pathOf, pool }: Ceph) {
  const namespaces = `block/pool/${encodeURIComponent(pool)}/namespace`;
  const image = { pool_name: pool, name: 'record', size: 1, features: ['layering'] };

  /** The ids that begin so, without that, in order; of some there may be no record any more. */
  async function ids(prefix: string): Promise<readonly string[]> {
    const all = (await get<readonly { namespace: string }[]>(namespaces)) ?? [];
    const mine = all.map(({ namespace }) => namespace).filter(name => name.startsWith(prefix));
    return mine.map(name => name.slice(prefix.length)).sort();
  }

  return {
    ids,
    /** A page of what has ids that begin so, as it is read; what is gone meanwhile is left out. */
    async list<T>(prefix: string, read: (id: string) => Promise<T | undefined>, asked: PageAsked) {
      const all = (await ids(prefix)).map(id => ({ id }));
      const { entries, ...more } = toPage(all, asked);
      const found = await Promise.all(entries.map(({ id }) => read(id)));
      return { entries: found.filter(one => one !== undefined), ...more };
    },
    find: async <T>(id: string): Promise<Found<T> | undefined> => parse<T>(await find(pathOf(id, 'record'))),

    /** The record that there is, or else one of this value. */
    create<T extends object>(id: string, value: T): Promise<Found<T>> {
      const path = pathOf(id, 'record');
      const naming = { snapshot_name: textOf(value), mirrorImageSnapshot: false };
      const begin = [`POST ${namespaces}`, { namespace: id }] as const;
      const make = ['POST block/image', { ...image, namespace: id }] as const;
      return settle(path, parse<T>, begin, make, [`POST ${path}/snap`, naming]);
    },

    /** ABORTED when somebody else has changed it meanwhile. */
    async replace<T extends object>(id: string, { text }: Found<T>, value: T): Promise<void> {
      const wanted = textOf(value);
      const look = (now?: Image): boolean => {
        const held = parse(now)?.text;
        if (held === wanted || held === text) return held === wanted;
        throw new Problem('ABORTED', `somebody else has changed "${id}"`);
      };
      const path = pathOf(id, 'record');
      await settle(path, look, [`PUT ${path}/snap/${text}`, { new_snap_name: wanted }]);
    },

    /** One that is missing is fine. */
    async remove(id: string): Promise<void> {
      await settle(pathOf(id, 'record'), now => !now, [`DELETE ${pathOf(id, 'record')}`]);
      const { status } = await send(`DELETE ${namespaces}/${encodeURIComponent(id)}`);
      if (status < 300 || !(await ids(id)).includes('')) return;
      throw new Problem('UNAVAILABLE', `Ceph does not remove the namespace "${id}" yet`);
    },
  };
}

function textOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function parse<T>(image?: Image): Found<T> | undefined {
  const [first] = image?.snapshots.toSorted((a, b) => a.id - b.id) ?? [];
  return first && { value: JSON.parse(`${Buffer.from(first.name, 'base64url')}`), text: first.name };
}
