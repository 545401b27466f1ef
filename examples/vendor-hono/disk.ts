import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual, promisify } from 'node:util';
import { isWithin, Problem, sizeFor } from 'fairlead/vendor';
import type { AttachmentResource, AttachmentSpec, SizeSpec, VolumeSource } from 'fairlead/vendor';

export type Disk = ReturnType<typeof openDisk>;
/** What has bytes: its kind, and its id. */
export type Name = { kind: 'volume' | 'snapshot'; id: string };
/** What is remembered of a volume or snapshot: what it was asked to be, and how it is attached. */
export type Document = Name & { asked: object; sizeBytes: number; createdAt: string; holdsData: boolean } & {
  mutableParameters?: Record<string, string>;
  attached?: { asked: AttachmentSpec; resource: AttachmentResource } | undefined;
};

export const volumeNamed = (id: string): Name => ({ kind: 'volume', id });
export const snapshotNamed = (id: string): Name => ({ kind: 'snapshot', id });
const nameOf = (source: VolumeSource): Name =>
  source.kind === 'volume' ? volumeNamed(source.volumeId) : snapshotNamed(source.snapshotId);

/** Documents, each with a file of bytes. What a call has changed is durable when it returns. */
export function openDisk(dir: string, capacityBytes: number) {
  const kinds = ['volume', 'snapshot'] as const;
  for (const kind of kinds) mkdirSync(join(dir, kind), { recursive: true });
  const db = new DatabaseSync(join(dir, 'state.sqlite'));
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists documents (kind text, id text, value text, primary key (kind, id))`);
  const select = db.prepare('select value from documents where kind = ? and id = ifnull(?, id) order by id');
  const sum = db.prepare(`select total(value ->> 'sizeBytes') as bytes from documents`);
  const insert = db.prepare('insert or replace into documents values (?, ?, ?)');
  const erase = db.prepare('delete from documents where kind = ? and id = ?');
  const limits = { minimumVolumeBytes: 2 ** 20, maximumVolumeBytes: capacityBytes, stepBytes: 2 ** 20 };
  const pathOf = ({ kind, id }: Name): string => join(resolve(dir), kind, `${id}.img`);
  const freeBytes = (): number => Math.max(0, capacityBytes - Number(sum.get()?.['bytes']));
  const list = (kind: Name['kind'], id: string | null = null): Document[] =>
    select.all(kind, id).map(({ value }) => JSON.parse(String(value)));
  const find = ({ kind, id }: Name): Document | undefined => list(kind, id)[0];

  function require(name: Name): Document {
    const found = find(name);
    if (found) return found;
    throw new Problem('NOT_FOUND', `there is no ${name.kind} "${name.id}"`);
  }

  function put(document: Document): Document {
    insert.run(document.kind, document.id, JSON.stringify(document));
    settle(document);
    return document;
  }

  /** A file that is being made or deleted is called `.new`: with a document it gets its name, without one it goes. */
  function settle(name: Name): void {
    const path = pathOf(name);
    if (!existsSync(`${path}.new`)) return;
    if (find(name)) renameSync(`${path}.new`, path);
    else rmSync(`${path}.new`);
  }

  function chooseSize(asked: SizeSpec, leastBytes = 0, heldBytes = 0): number {
    const sizeBytes = sizeFor(asked, limits, leastBytes);
    if (sizeBytes - heldBytes <= freeBytes()) return sizeBytes;
    throw new Problem('RESOURCE_EXHAUSTED', `less than ${sizeBytes} bytes are left`);
  }

  const documents = { limits, pathOf, freeBytes, list, find, require, put };
  for (const kind of kinds)
    for (const file of globSync('*.img.new', { cwd: join(dir, kind) }))
      settle({ kind, id: basename(file, '.img.new') });

  return {
    ...documents,

    /** The same that is there already, 200; or a new one, 201: zeros, or a copy with zeros behind it. */
    async create(wanted: Name & { asked: object }, size: SizeSpec, source?: VolumeSource) {
      const [found, path] = [find(wanted), `${pathOf(wanted)}.new`];
      if (found && isDeepStrictEqual(found.asked, wanted.asked) && isWithin(found.sizeBytes, size))
        return [200, found] as const;
      if (found) throw new Problem('ALREADY_EXISTS', `${found.kind} "${found.id}" is there, and is another`);
      const origin = source && require(nameOf(source));
      const sizeBytes = chooseSize(size, origin?.sizeBytes);
      const createdAt = new Date().toISOString();
      rmSync(path, { force: true });
      if (origin) await copy(pathOf(origin), path, origin.attached?.resource.readonly === false);
      await resize(path, sizeBytes);
      return [201, put({ ...wanted, sizeBytes, createdAt, holdsData: origin !== undefined })] as const;
    },

    async expand(document: Document, size: SizeSpec): Promise<Document> {
      if (isWithin(document.sizeBytes, size)) return document;
      const sizeBytes = chooseSize(size, document.sizeBytes, document.sizeBytes);
      await resize(pathOf(document), sizeBytes);
      return put({ ...document, sizeBytes });
    },

    remove(name: Name): void {
      if (existsSync(pathOf(name))) renameSync(pathOf(name), `${pathOf(name)}.new`);
      erase.run(name.kind, name.id);
      settle(name);
    },
  };
}

async function resize(path: string, sizeBytes: number): Promise<void> {
  await using file = await open(path, 'a');
  await file.truncate(sizeBytes);
  await file.sync();
  await using parent = await open(dirname(path));
  await parent.sync();
}

/** While it may be written it is copied at one point in time, by sharing blocks, or not at all. */
async function copy(path: string, made: string, isWritten: boolean): Promise<void> {
  const reflink = `--reflink=${isWritten ? 'always' : 'auto'}`;
  await promisify(execFile)('cp', [reflink, '--', path, made]).catch((error: unknown) => {
    throw isWritten ? new Problem('FAILED_PRECONDITION', 'it may be written while it is copied') : error;
  });
}
