import { maxOf } from '../numbers.ts';

/** A line of /proc/self/mountinfo, unescaped. */
export type Mount = {
  readonly id: number;
  readonly parentId: number;
  /** `major:minor` of the filesystem's device. */
  readonly device: string;
  /** The mounted part of the filesystem; `/` for all of it. */
  readonly root: string;
  readonly path: string;
  readonly options: readonly string[];
  /** The peer groups of the mount (`shared:N`, `master:N`); absent without any. */
  readonly propagation?: readonly string[];
  readonly type: string;
  readonly source: string;
  /** Options of the filesystem itself, such as ro, errors=remount-ro. */
  readonly superOptions: readonly string[];
};

/** Parses a mountinfo file. Throws for a malformed line, because skipping it would hide a mount. */
export function parseMountinfo(text: string): readonly Mount[] {
  return createMountReader(() => text)();
}

/**
 * Creates a reader for repeated reads of a mountinfo file. It parses only new lines: a node has hundreds of mounts,
 * and most stay.
 */
export function createMountReader(read: () => string): () => readonly Mount[] {
  let text = '';
  let mounts: readonly Mount[] = [];
  return () => {
    const now = read();
    if (now !== text) mounts = follow(mounts, text, now);
    text = now;
    return mounts;
  };
}

/** Returns the mounts of `text` from those of `before`. The kernel adds a mount at the end, and the newest often goes first. */
function follow(mounts: readonly Mount[], before: string, text: string): readonly Mount[] {
  if (text.startsWith(before)) return [...mounts, ...linesOf(text.slice(before.length)).map(parseLine)];
  if (before.startsWith(text)) return mounts.slice(0, -linesOf(before.slice(text.length)).length);
  const known = new Map(linesOf(before).map((line, index) => [line, mounts[index]]));
  return linesOf(text).map(line => known.get(line) ?? parseLine(line));
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter(line => line !== '');
}

/** The mounts at a path, the topmost last. */
export function mountsAt(mounts: readonly Mount[], path: string): readonly Mount[] {
  return mounts.filter(mount => mount.path === path);
}

/** The mounts below a path, without those at it. */
export function mountsBelow(mounts: readonly Mount[], path: string): readonly Mount[] {
  return mounts.filter(mount => mount.path.startsWith(path === '/' ? '/' : `${path}/`));
}

/** True for the path itself and for paths below it. */
export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
}

/** The visible mount at a path. */
export function topMount(mounts: readonly Mount[], path: string): Mount | undefined {
  return mountsAt(mounts, path).at(-1);
}

/** The mount that contains a path without symbolic links. */
export function nearestMount(mounts: readonly Mount[], path: string): Mount | undefined {
  const above = mounts.filter(mount => isAtOrBelow(path, mount.path));
  const maxLength = maxOf(above.map(mount => mount.path.length));
  return above.findLast(mount => mount.path.length === maxLength);
}

/** A directory of a filesystem: the filesystem's device, and the path from its root. */
type Origin = Pick<Mount, 'device' | 'root'>;

/** Finds the directory that a path without symbolic links leads to. */
export function originOf(mounts: readonly Mount[], path: string): Origin | undefined {
  const nearest = nearestMount(mounts, path);
  if (!nearest) return undefined;
  const rest = path.slice(nearest.path === '/' ? 0 : nearest.path.length);
  return { device: nearest.device, root: `${nearest.root === '/' ? '' : nearest.root}${rest}` || '/' };
}

/**
 * The fields of mountinfo (proc_pid_mountinfo(5)): propagation may be missing, the source may be empty, and the last
 * field may contain spaces.
 */
const linePattern = /^(\d+) (\d+) (\S+) (\S+) (\S+) (\S+) (?:(\S.*?) )?- (\S+) (\S*) (.+)$/;

function parseLine(line: string): Mount {
  // A part of a string keeps the whole string in memory: here the text of all mounts, for each mount.
  const fields = linePattern.exec(Buffer.from(line).toString());
  if (!fields) throw new Error(`not a mountinfo line: "${line}"`);
  const [, id, parentId, device = '', root = '', path = '', options = ''] = fields;
  const [propagation, type = '', source = '', superOptions = ''] = fields.slice(7);
  return {
    id: Number(id),
    parentId: Number(parentId),
    device,
    root: unescapeOctal(root),
    path: unescapeOctal(path),
    options: options.split(','),
    ...(propagation && { propagation: propagation.split(' ') }),
    type,
    source: unescapeOctal(source),
    superOptions: superOptions.split(','),
  };
}

function unescapeOctal(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCodePoint(Number.parseInt(octal, 8)),
  );
}
