import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../backends/local/files.ts';

/** The numbers of all processes that this one sees. */
export function listProcesses(): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

/** The sockets that a process has open, by their numbers; none of one that is gone, or whose files this one may not see. */
export function socketsOf(pid: number): readonly string[] {
  const directory = `/proc/${pid}/fd`;
  const links = seen(() => readdirSync(directory))?.map(name =>
    seen(() => readlinkSync(join(directory, name))),
  );
  return (links ?? []).flatMap(link => /^socket:\[(\d+)\]$/.exec(link ?? '')?.[1] ?? []);
}

function seen<T>(look: () => T): T | undefined {
  return orGone(look, ['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);
}

/** What a file holds; undefined when it is not there. */
export function readText(path: string): string | undefined {
  return orGone(() => readFileSync(path, 'utf8'));
}

/** Undefined for what is not there, or is gone while it is read. */
export function orGone<T>(read: () => T, codes: readonly string[] = ['ENOENT', 'ESRCH']): T | undefined {
  try {
    return read();
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined;
    throw error;
  }
}
