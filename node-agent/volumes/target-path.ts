import { basename, dirname, normalize } from 'node:path/posix';
import { invalidProblem, preconditionProblem } from '../../src/api/problem.ts';
import type { Host, PathKind } from '../host.ts';
import { isAtOrBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/** The directory that contains every path of a caller: as the caller names it, and without symbolic links. */
export type Base = { readonly named: string; readonly real: string };

type GivenPath = { readonly field: string; readonly path: string };

/** The state of a path. A mountpoint is not opened, since its volume may hang. */
type PathState = GivenPath & {
  readonly kind: PathKind | 'mountpoint';
  /** The topmost parent directory that does not exist. */
  readonly missingParent?: string;
};

const maxPathBytes = 4_095;
const maxNameBytes = 255;

/** Reads a caller's path as mountinfo will show it; INVALID_ARGUMENT names the field and the fault. */
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

/** FAILED_PRECONDITION for a path, as mountinfo shows it, that does not lie below the base. */
export function requireBelow({ real }: Base, paths: readonly string[]): void {
  const path = paths.find(one => one === real || !isAtOrBelow(one, real));
  if (path !== undefined) throw preconditionProblem(`its path "${path}" does not lie below "${real}"`);
}

/** Returns a path below the base as mountinfo shows it; any other path only loses its trailing slash. */
export function realOf(value: string, { named, real }: Base): string {
  const path = withoutSlash(value);
  if (named === real || !path.startsWith(`${named}/`)) return path;
  return `${real === '/' ? '' : real}${path.slice(named.length)}`;
}

function withoutSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, '');
}

/** Inspects every component below the base: a symbolic link is INVALID_ARGUMENT, another mount FAILED_PRECONDITION. */
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
      // The base "/" is for development only; other mounts of the machine may then lie above the path.
      if (base.real === '/') continue;
      throw preconditionProblem(`${field} "${path}" lies inside another mount, at "${component}"`);
    }
    const kind = await host.kindOf(component);
    if (kind === 'link')
      throw invalidProblem(`${field} "${path}" has the symbolic link "${component}" in it`);
    if (isLast) return { ...given, kind };
    if (kind === 'nothing') return { ...given, kind, missingParent: component };
    if (kind !== 'directory')
      throw preconditionProblem(`${field} "${path}": "${component}" is not a directory`);
  }
  throw new Error(`"${path}" does not lie below "${base.real}"`);
}

/** FAILED_PRECONDITION unless the path is a mountpoint, is missing in an existing directory, or is of the needed kind. */
export function requireUsable(
  { field, path, kind, missingParent }: PathState,
  needed: 'file' | 'directory',
): void {
  if (missingParent !== undefined)
    throw preconditionProblem(`${field} "${path}": the directory "${missingParent}" does not exist`);
  if (!['nothing', 'mountpoint', needed].includes(kind))
    throw preconditionProblem(`${field} "${path}" is not a ${needed}`);
}

/** Runs `work` on the path's name in its opened directory, so that no symbolic link on the way is followed. */
export async function inDirectory<T>(host: Host, path: string, work: (at: string) => Promise<T>): Promise<T> {
  using directory = await host.open(dirname(path));
  try {
    return await work(`${directory.at}/${basename(path)}`);
  } catch (error) {
    throw Object.assign(error as Error, { path });
  }
}

/** Removes the empty file or directory at an unmounted target path; FAILED_PRECONDITION if it holds data. */
export async function removeLeftover(host: Host, { path, kind }: PathState): Promise<void> {
  if (kind === 'directory')
    await inDirectory(host, path, host.removeDirectory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY') throw error;
      throw preconditionProblem(
        `target_path "${path}" is not mounted and not empty; move its files away by hand`,
        error,
      );
    });
  else if (kind === 'file') await inDirectory(host, path, host.removeFile);
  else if (kind !== 'nothing')
    throw preconditionProblem(
      `target_path "${path}" is ${kind === 'filled' ? 'not mounted and holds data; move the file away by hand' : 'neither a file nor a directory'}`,
    );
}

function componentsOf(path: string, base: Base): readonly string[] {
  const root = base.real === '/' ? '' : base.real;
  const parts = path.slice(root.length + 1).split('/');
  return parts.map((_, index) => `${root}/${parts.slice(0, index + 1).join('/')}`);
}
