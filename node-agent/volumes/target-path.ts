import { basename, dirname, normalize } from 'node:path/posix';
import { invalidProblem, preconditionProblem } from '../../src/api/problem.ts';
import type { Host, PathKind } from '../host.ts';
import { isAtOrBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/** The directory below which every path of a caller lies: as the caller names it, and without symbolic links. */
export type Base = { readonly named: string; readonly real: string };

/** A path, and the field of the request that it came in. */
type GivenPath = { readonly field: string; readonly path: string };

/** What lies at a path. A mountpoint is not looked at, since its volume may hang. */
type PathState = GivenPath & {
  readonly kind: PathKind | 'mountpoint';
  /** The first directory above it that is not there. */
  readonly missingParent?: string;
};

const maxPathBytes = 4_095;
const maxNameBytes = 255;

/** Reads a caller's path as mountinfo will show it; INVALID_ARGUMENT names the field and what was found. */
export function readPath(value: string, field: string, base: Base): string {
  const path = withoutSlash(value);
  const bytes = Buffer.byteLength(value);
  const long = path.split('/').find(part => Buffer.byteLength(part) > maxNameBytes);
  const root = base.named === '/' ? '' : base.named;
  const fault = [
    value === '' && 'is missing',
    !value.startsWith('/') && `"${value}" is not absolute`,
    value.includes('\0') && 'holds a NUL character',
    bytes > maxPathBytes && `has ${bytes} bytes, more than the ${maxPathBytes} allowed`,
    long !== undefined &&
      `has a component of ${Buffer.byteLength(long)} bytes, more than the ${maxNameBytes} allowed`,
    (path.endsWith('/') || normalize(path) !== path) && `"${value}" is not normalized`,
    !path.startsWith(`${root}/`) && `"${value}" does not lie below "${base.named}"`,
  ].find(one => one !== false);
  if (fault !== undefined) throw invalidProblem(`${field} ${fault}`);
  return realOf(path, base);
}

/** FAILED_PRECONDITION for a path, as mountinfo shows it, at which no volume can be: it does not lie below the base. */
export function requireBelow({ real }: Base, paths: readonly string[]): void {
  const path = paths.find(one => one === real || !isAtOrBelow(one, real));
  if (path !== undefined) throw preconditionProblem(`its path "${path}" does not lie below "${real}"`);
}

/** A path below the base as mountinfo shows it; any other as it is, but for a slash at its end. */
export function realOf(value: string, { named, real }: Base): string {
  const path = withoutSlash(value);
  if (named === real || !path.startsWith(`${named}/`)) return path;
  return `${real === '/' ? '' : real}${path.slice(named.length)}`;
}

function withoutSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, '');
}

/** Looks at every component below the base: a link in it is INVALID_ARGUMENT, another mount FAILED_PRECONDITION. */
export async function inspectPath(
  { host, base }: { readonly host: Host; readonly base: Base },
  given: GivenPath,
  mounts: readonly Mount[],
): Promise<PathState> {
  const { field, path } = given;
  for (const component of componentsOf(path, base)) {
    const isLast = component === path;
    if (topMount(mounts, component)) {
      if (isLast) return { ...given, kind: 'mountpoint' };
      // With the base "/" other mounts of the machine lie on the way; that base is for development only.
      if (base.real === '/') continue;
      throw preconditionProblem(`${field} "${path}" lies on what is mounted at "${component}"`);
    }
    const kind = await host.kindOf(component);
    if (kind === 'link')
      throw invalidProblem(`${field} "${path}" has the symbolic link "${component}" in it`);
    if (isLast) return { ...given, kind };
    if (kind === 'nothing') return { ...given, kind, missingParent: component };
    if (kind !== 'directory')
      throw preconditionProblem(`${field} "${path}" has "${component}" in it, which is no directory`);
  }
  throw new Error(`"${path}" does not lie below "${base.real}"`);
}

/** FAILED_PRECONDITION unless something can be mounted at the path, or is: on what is needed for it, which may have to be made. */
export function requireUsable(
  { field, path, kind, missingParent }: PathState,
  needed: 'file' | 'directory',
): void {
  if (missingParent !== undefined)
    throw preconditionProblem(`${field} "${path}": "${missingParent}" is not there`);
  if (!['nothing', 'mountpoint', needed].includes(kind))
    throw preconditionProblem(`${field} "${path}" is no ${needed}`);
}

/** Works on what lies at a path, or will, in its directory, which is reached without symbolic links; a last one is not followed. */
export async function inDirectory<T>(host: Host, path: string, work: (at: string) => Promise<T>): Promise<T> {
  using directory = await host.open(dirname(path));
  try {
    return await work(`${directory.at}/${basename(path)}`);
  } catch (error) {
    throw Object.assign(error as Error, { path });
  }
}

/** Removes what an unpublish leaves at a target path that is not mounted any more; never what holds data. */
export async function removeLeftover(host: Host, { path, kind }: PathState): Promise<void> {
  if (kind === 'directory')
    await inDirectory(host, path, host.removeDirectory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY') throw error;
      throw preconditionProblem(`target_path "${path}" is not mounted and not empty`, error);
    });
  else if (kind === 'file') await inDirectory(host, path, host.removeFile);
  else if (kind !== 'nothing')
    throw preconditionProblem(
      `target_path "${path}" is ${kind === 'filled' ? 'not mounted and a file that holds data' : 'neither a file nor a directory'}`,
    );
}

function componentsOf(path: string, base: Base): readonly string[] {
  const root = base.real === '/' ? '' : base.real;
  const parts = path.slice(root.length + 1).split('/');
  return parts.map((_, index) => `${root}/${parts.slice(0, index + 1).join('/')}`);
}
