import { spawnSync } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, parse, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Problem } from './problem.ts';

export type Disk = ReturnType<typeof openDisk>;
type Kind = 'volume' | 'snapshot';
/** Bytes to copy. While they may be written it is done at one point in time, by sharing blocks, or not at all. */
export type Source = { readonly path: string; readonly isWritten: boolean };

/** Documents by kind and id, each with a file of bytes. What a call has changed is durable when it returns. */
export function openDisk(dir: string, capacityBytes: number) {
  for (const kind of ['volume', 'snapshot']) mkdirSync(join(dir, kind), { recursive: true });
  const db = new DatabaseSync(join(dir, 'state.sqlite'));
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists documents (kind text, id text, value text, primary key (kind, id))`);
  const select = db.prepare('select value from documents where kind = ? and id = ifnull(?, id) order by id');
  const sum = db.prepare(`select total(value ->> 'sizeBytes') as bytes from documents`);
  const insert = db.prepare('insert or replace into documents values (?, ?, ?)');
  const remove = db.prepare('delete from documents where kind = ? and id = ?');
  const pathOf = (kind: Kind, id: string): string => join(resolve(dir), kind, `${id}.img`);
  const list = <T>(kind: Kind, id: string | null = null): T[] =>
    select.all(kind, id).map(({ value }) => JSON.parse(String(value)));
  for (const kind of ['volume', 'snapshot'] as const)
    for (const name of readdirSync(join(dir, kind)))
      if (list(kind, parse(name).name).length === 0) rmSync(join(dir, kind, name));
  return {
    capacityBytes,
    pathOf,
    list,
    find: <T>(kind: Kind, id: string): T | undefined => list<T>(kind, id)[0],
    require<T>(kind: Kind, id: string): T {
      const [found] = list<T>(kind, id);
      if (!found) throw new Problem('NOT_FOUND', `there is no ${kind} "${id}"`);
      return found;
    },
    freeBytes: (): number => capacityBytes - Number(sum.get()?.['bytes']),
    put<T extends { readonly id: string }>(kind: Kind, document: T): T {
      insert.run(kind, document.id, JSON.stringify(document));
      return document;
    },
    /** The document first: a file without one goes at the next start at the latest. */
    remove(kind: Kind, id: string): void {
      remove.run(kind, id);
      rmSync(pathOf(kind, id), { force: true });
    },
    /** Makes a file of zeros, or a copy with zeros behind it. */
    fill(path: string, sizeBytes: number, source?: Source): void {
      const made = `${path}.new`;
      rmSync(made, { force: true });
      if (source) copy(source, made);
      resize(made, sizeBytes);
      renameSync(made, path);
      resize(join(path, '..'));
    },
    resize,
  };
}

function resize(path: string, sizeBytes?: number): void {
  const fd = openSync(path, sizeBytes === undefined ? 'r' : 'a');
  if (sizeBytes !== undefined) ftruncateSync(fd, sizeBytes);
  fsyncSync(fd);
  closeSync(fd);
}

function copy({ path, isWritten }: Source, made: string): void {
  const reflink = `--reflink=${isWritten ? 'always' : 'auto'}`;
  const { status } = spawnSync('cp', [reflink, '--', path, made]);
  if (status === 0) return;
  if (isWritten) throw new Problem('FAILED_PRECONDITION', 'it may be written while it is copied');
  throw new Error(`cp ended with status ${status}`);
}
