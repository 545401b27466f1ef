/** One line of /proc/self/mountinfo, unescaped. */
export type Mount = {
  readonly id: number;
  readonly parentId: number;
  /** `major:minor` of the filesystem's device. */
  readonly device: string;
  /** What part of the filesystem is mounted; `/` for all of it. */
  readonly root: string;
  readonly path: string;
  /** Options of this mount, such as ro, nosuid. */
  readonly options: readonly string[];
  /** How mounts spread from it (`shared:N`) and to it (`master:N`); absent where they do neither. */
  readonly propagation?: readonly string[];
  readonly type: string;
  readonly source: string;
  /** Options of the filesystem itself, such as ro, errors=remount-ro. */
  readonly superOptions: readonly string[];
};

/** Reads the text of a mountinfo file; a line that is not one is an error, since guessing would hide a mount. */
export function parseMountinfo(text: string): readonly Mount[] {
  return createMountReader(() => text)();
}

/**
 * Reads one mountinfo file again and again, and only its new lines anew: a node has hundreds of mounts, and most stay.
 */
export function createMountReader(read: () => string): () => readonly Mount[] {
  let known: ReadonlyMap<string, Mount> = new Map();
  let last = { text: '', mounts: new Array<Mount>() };
  return () => {
    const text = read();
    if (text === last.text) return last.mounts;
    const lines = text.split('\n').filter(line => line !== '');
    const mounts = lines.map(line => known.get(line) ?? parseLine(line));
    known = new Map(mounts.map((mount, index) => [lines[index] ?? '', mount]));
    last = { text, mounts };
    return mounts;
  };
}

/** What is mounted at a path, the topmost last. */
export function mountsAt(mounts: readonly Mount[], path: string): readonly Mount[] {
  return mounts.filter(mount => mount.path === path);
}

/** What is mounted below a path, but not at it. */
export function mountsBelow(mounts: readonly Mount[], path: string): readonly Mount[] {
  return mounts.filter(mount => mount.path.startsWith(path === '/' ? '/' : `${path}/`));
}

/** True for a path itself and for what lies below it. */
export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
}

/** What is seen at a path when something is mounted there. */
export function topMount(mounts: readonly Mount[], path: string): Mount | undefined {
  return mountsAt(mounts, path).at(-1);
}

/** The mount that a path without symbolic links lies on. */
export function nearestMount(mounts: readonly Mount[], path: string): Mount | undefined {
  const above = mounts.filter(mount => isAtOrBelow(path, mount.path));
  const longest = Math.max(...above.map(mount => mount.path.length));
  return above.findLast(mount => mount.path.length === longest);
}

/** A directory of a filesystem: the filesystem's device, and the path from its own root. */
type Origin = Pick<Mount, 'device' | 'root'>;

/** Which directory a path without symbolic links leads to: in the filesystem that is mounted nearest above it. */
export function originOf(mounts: readonly Mount[], path: string): Origin | undefined {
  const nearest = nearestMount(mounts, path);
  if (!nearest) return undefined;
  const rest = path.slice(nearest.path === '/' ? 0 : nearest.path.length);
  return { device: nearest.device, root: `${nearest.root === '/' ? '' : nearest.root}${rest}` || '/' };
}

/** Fields of mountinfo (proc_pid_mountinfo(5)): propagation may be missing, a source empty, and the last one has spaces at times. */
const linePattern = /^(\d+) (\d+) (\S+) (\S+) (\S+) (\S+) (?:(\S.*?) )?- (\S+) (\S*) (.+)$/;

function parseLine(line: string): Mount {
  const fields = linePattern.exec(line);
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
