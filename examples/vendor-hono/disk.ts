import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual, promisify } from 'node:util';
import { isWithin, Problem, sizeFor } from 'fairlead/vendor';
import type { AttachmentResource, AttachmentSpec, SizeSpec, VolumeSource } from 'fairlead/vendor';

export type Disk = ReturnType<typeof openDisk>;
/** The name of a volume or a snapshot. */
export type Name = { kind: 'volume' | 'snapshot'; id: string };
/** The state of a volume or snapshot. `spec` is the create request without the size; an equal one is a repetition. */
export type Document = Name & { spec: object; sizeBytes: number; createdAt: string; holdsData: boolean } & {
  mutableParameters?: Record<string, string>;
  attached?: { spec: AttachmentSpec; resource: AttachmentResource } | undefined;
};

export const volumeNamed = (id: string): Name => ({ kind: 'volume', id });
export const snapshotNamed = (id: string): Name => ({ kind: 'snapshot', id });
const nameOf = (source: VolumeSource): Name =>
  source.kind === 'volume' ? volumeNamed(source.volumeId) : snapshotNamed(source.snapshotId);

/** Opens the storage: documents, each with an image file. Every change is durable when its function returns. */
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

  /** Finishes creating or deleting a file, which is named `.new` until then: with a document it is renamed, else removed. */
  function settle(name: Name): void {
    const path = pathOf(name);
    if (!existsSync(`${path}.new`)) return;
    if (find(name)) renameSync(`${path}.new`, path);
    else rmSync(`${path}.new`);
  }

  function chooseSize(spec: SizeSpec, minBytes = 0, heldBytes = 0): number {
    const sizeBytes = sizeFor(spec, limits, minBytes);
    if (sizeBytes - heldBytes <= freeBytes()) return sizeBytes;
    throw new Problem('RESOURCE_EXHAUSTED', `only ${freeBytes()} of ${sizeBytes - heldBytes} bytes are free`);
  }

  const documents = { limits, pathOf, freeBytes, list, find, require, put };
  for (const kind of kinds)
    for (const file of globSync('*.img.new', { cwd: join(dir, kind) }))
      settle({ kind, id: basename(file, '.img.new') });

  return {
    ...documents,

    /** Returns 200 with an equal existing document, or creates one (201) with zeros, or with a copy followed by zeros. */
    async create(wanted: Name & { spec: object }, size: SizeSpec, source?: VolumeSource) {
      const [found, path] = [find(wanted), `${pathOf(wanted)}.new`];
      if (found && isDeepStrictEqual(found.spec, wanted.spec) && isWithin(found.sizeBytes, size))
        return [200, found] as const;
      if (found)
        throw new Problem('ALREADY_EXISTS', `${found.kind} "${found.id}" exists with other settings`);
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

/** Copies a file. One that a node may be writing to is copied by sharing blocks, which is a single point in time, or not at all. */
async function copy(path: string, target: string, isWritten: boolean): Promise<void> {
  const reflink = `--reflink=${isWritten ? 'always' : 'auto'}`;
  await promisify(execFile)('cp', [reflink, '--', path, target]).catch((error: unknown) => {
    throw isWritten ? new Problem('FAILED_PRECONDITION', 'detach the volume before copying it') : error;
  });
}
