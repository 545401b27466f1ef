import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual, promisify } from 'node:util';
import { Problem } from './problem.ts';

export type Disk = ReturnType<typeof openDisk>;
export type Texts = Record<string, string>;
/** What has bytes: its kind, and its id. */
export type Name = { kind: 'volume' | 'snapshot'; id: string };
export type Size = { requiredBytes?: number; limitBytes?: number };
type Access = { capability: { accessMode: string; accessType: string }; readonly: boolean };
/** What is remembered of a volume or snapshot: what it was asked to be, and how it is attached. */
export type Document = Name & { asked: object; sizeBytes: number; createdAt: string; holdsData: boolean } & {
  mutableParameters?: Texts;
  attached?: { nodeId: string; access: Access; resource: object } | undefined;
};

const stepBytes = 2 ** 20;

/** Documents, each with a file of bytes. What a call has changed is durable when it returns. */
export function openDisk(dir: string, capacityBytes: number) {
  const db = new DatabaseSync(join(makeDirectory(dir), 'state.sqlite'));
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists documents (kind text, id text, value text, primary key (kind, id))`);
  const select = db.prepare('select value from documents where kind = ? and id = ifnull(?, id) order by id');
  const sum = db.prepare(`select total(value ->> 'sizeBytes') as bytes from documents`);
  const insert = db.prepare('insert or replace into documents values (?, ?, ?)');
  const erase = db.prepare('delete from documents where kind = ? and id = ?');
  const pathOf = ({ kind, id }: Name): string => join(resolve(dir), kind, `${id}.img`);
  const freeBytes = (): number => capacityBytes - Number(sum.get()?.['bytes']);
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

  function chooseSize({ requiredBytes = 0, limitBytes = 0 }: Size, leastBytes = 0, heldBytes = 0): number {
    const most = Math.min(limitBytes || capacityBytes, capacityBytes);
    const least = requiredBytes || leastBytes || Math.min(2 ** 30, most - (most % stepBytes));
    const sizeBytes = Math.ceil(Math.max(least, 1) / stepBytes) * stepBytes;
    if (sizeBytes > most || least < leastBytes)
      throw new Problem('OUT_OF_RANGE', `no size of ${least} to ${most} bytes is possible`);
    if (sizeBytes - heldBytes <= freeBytes()) return sizeBytes;
    throw new Problem('RESOURCE_EXHAUSTED', `less than ${sizeBytes} bytes are left`);
  }

  const documents = { pathOf, freeBytes, list, find, require, put };
  for (const kind of ['volume', 'snapshot'] as const)
    for (const file of globSync('*.img.new', { cwd: makeDirectory(join(dir, kind)) }))
      settle({ kind, id: file.replace('.img.new', '') });
  return {
    limits: { minimumVolumeBytes: stepBytes, maximumVolumeBytes: capacityBytes, stepBytes },
    ...documents,

    /** The same that is there already, 200; or a new one, 201: zeros, or a copy with zeros behind it. */
    async create(name: Name, asked: object, { origin, ...size }: Size & { origin?: Name | undefined }) {
      const [found, path] = [find(name), `${pathOf(name)}.new`];
      if (found && isDeepStrictEqual(found.asked, asked) && isWithin(found, size))
        return [200, found] as const;
      if (found) throw new Problem('ALREADY_EXISTS', `${name.kind} "${name.id}" is there, and is another`);
      const source = origin && require(origin);
      const sizeBytes = chooseSize(size, source?.sizeBytes);
      const createdAt = new Date().toISOString();
      rmSync(path, { force: true });
      if (source) await copy(pathOf(source), path, source.attached?.access.readonly === false);
      await resize(path, sizeBytes);
      return [201, put({ ...name, asked, sizeBytes, createdAt, holdsData: origin !== undefined })] as const;
    },
    async expand(document: Document, size: Size): Promise<Document> {
      if (isWithin(document, size)) return document;
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

function isWithin({ sizeBytes }: Document, { requiredBytes = 0, limitBytes = 0 }: Size): boolean {
  return sizeBytes >= requiredBytes && sizeBytes <= (limitBytes || sizeBytes);
}

function makeDirectory(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
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
