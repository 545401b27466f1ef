import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../backends/local/files.ts';

/** The numbers of all processes that this one sees. */
export function listProcesses(): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

/** The sockets that a process has open, by their numbers; none of one that is gone. */
export function socketsOf(pid: number): readonly string[] {
  const directory = `/proc/${pid}/fd`;
  const links = orGone(() => readdirSync(directory))?.map(name =>
    orGone(() => readlinkSync(join(directory, name))),
  );
  return (links ?? []).flatMap(link => /^socket:\[(\d+)\]$/.exec(link ?? '')?.[1] ?? []);
}

/** What a file holds; undefined when it is not there. */
export function readText(path: string): string | undefined {
  return orGone(() => readFileSync(path, 'utf8'));
}

/** Undefined for what is not there, or is gone while it is read. */
export function orGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
