import { isDeepStrictEqual } from 'node:util';
import { Problem, toPage, type PageRequest } from 'fairlead/vendor';
import type { Cinder, CinderResource, Kind } from './cinder.ts';

/** Cinder does not make names unique. A resource of this server has its id as name, and in its metadata. */
const idKey = 'fairlead';
/** Cinder's metadata are texts of at most 255 characters, so a longer text has several. */
const partLength = 255;
export const gibibyte = 2 ** 30;

export type Named = ReturnType<typeof createNamed>;
type ListOf<T> = {
  readonly request: PageRequest;
  readonly show: (found: CinderResource) => T;
  readonly isWanted?: (found: CinderResource) => boolean;
};

/** Gives Cinder's volumes or snapshots by this server's ids. */
export function createNamed(cinder: Cinder, kind: Kind) {
  const last = new Map<string, Promise<unknown>>();
  /** Does one work on an id at a time. */
  async function inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const job = (last.get(id) ?? Promise.resolve()).then(work);
    const ended = job.catch(() => {}).then(() => void (last.get(id) === ended && last.delete(id)));
    last.set(id, ended);
    return job;
  }

  /** Finds the resources with this id, the oldest first: a lost request may have created a second one. */
  async function findAll(id: string): Promise<CinderResource[]> {
    const found = (await cinder.list(kind, { name: id })).filter(one => idOf(one) === id);
    return found.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  }

  /** Deletes a resource of Cinder, and waits until it is gone. */
  async function erase(found: CinderResource): Promise<void> {
    if (found.status !== 'deleting') await cinder.send('DELETE', `/${kind}s/${found.id}`);
    if (!(await cinder.settle(kind, { ...found, status: 'deleting' }))) return;
    throw await cinder.failure(`delete ${kind} "${found.id}"`, found, 'UNAVAILABLE');
  }

  async function require(id: string): Promise<CinderResource> {
    const [found] = await findAll(id);
    if (found && found.status !== 'deleting') return found;
    throw new Problem('NOT_FOUND', `there is no ${kind} "${id}"`);
  }

  return {
    find: async (id: string): Promise<CinderResource | undefined> => (await findAll(id))[0],

    require,

    /** Works on a resource, which is not deleted meanwhile: Cinder would leave half of the work. */
    async use<T>(id: string, work: (found: CinderResource) => Promise<T>): Promise<T> {
      // Callers wait together for a resource that is stuck, and not each behind the time limits of the others.
      await cinder.settle(kind, await require(id));
      return inTurn(id, async () => work(await require(id)));
    },

    async list<T extends { readonly id: string }>({ request, show, isWanted = () => true }: ListOf<T>) {
      const all = await cinder.list(kind);
      const own = all.filter(one => idOf(one) !== undefined && one.status !== 'deleting' && isWanted(one));
      const shown = own.map(show).sort((a, b) => (a.id < b.id ? -1 : 1));
      return toPage(shown, request);
    },

    /**
     * Creates a resource unless there is one with its id. If an earlier request took effect late, there are two: the
     * older one stays, since it may be in use. Waits until it is ready; one that failed is deleted, with Cinder's reason.
     */
    async ensure(id: string, { spec, body }: { readonly spec: object; readonly body: object }) {
      const isNew = (await findAll(id)).length === 0;
      const whole = { ...body, name: id, metadata: metadataOf(id, spec) };
      if (isNew) await cinder.send('POST', `/${kind}s`, { [kind]: whole });
      const [first, ...others] = await findAll(id);
      for (const other of others) await erase(other);
      const found = await cinder.settle(kind, first);
      if (!found) throw new Problem('UNAVAILABLE', `${kind} "${id}" disappeared while Cinder created it`);
      if (!found.status.startsWith('error')) return { isNew, found };
      const failure = await cinder.failure(`create ${kind} "${id}"`, found, 'RESOURCE_EXHAUSTED');
      await erase(found);
      throw failure;
    },

    remove: (id: string): Promise<void> =>
      inTurn(id, async () => {
        for (const found of await findAll(id)) await erase(found);
      }),
  };
}

/** Refuses a create request for an id that has another resource. */
export function requireSame(found: CinderResource | undefined, spec: object, hasSize = true): void {
  if (!found || (hasSize && isDeepStrictEqual(specOf(found), spec))) return;
  throw new Problem('ALREADY_EXISTS', `"${idOf(found)}" exists with other settings`);
}

/** Makes the members that volumes and snapshots have in common. */
export function toShown(found: CinderResource) {
  const at = found.created_at;
  return {
    id: idOf(found) ?? '',
    state: found.status === 'creating' ? ('creating' as const) : ('ready' as const),
    sizeBytes: found.size * gibibyte,
    // Cinder's times are UTC without a zone.
    createdAt: new Date(at.endsWith('Z') ? at : `${at}Z`).toISOString(),
  };
}

/** Reads the parts of the create request that must be equal in a repetition. */
export function specOf<T>({ metadata }: CinderResource): T {
  const parts: string[] = [];
  for (let part = metadata[`${idKey}.0`]; part !== undefined; part = metadata[`${idKey}.${parts.length}`])
    parts.push(part);
  return JSON.parse(Buffer.from(parts.join(''), 'base64url').toString('utf8')) as T;
}

function metadataOf(id: string, spec: object): Record<string, string> {
  const text = Buffer.from(JSON.stringify(spec)).toString('base64url');
  const parts = text.match(new RegExp(`.{1,${partLength}}`, 'g')) ?? [];
  return { [idKey]: id, ...Object.fromEntries(parts.map((part, index) => [`${idKey}.${index}`, part])) };
}

function idOf({ metadata }: CinderResource): string | undefined {
  return metadata[idKey];
}

function orderOf({ created_at: at, id }: CinderResource): string {
  return `${at} ${id}`;
}
