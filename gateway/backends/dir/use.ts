import { readFile } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import { volumePath } from './paths.ts';

type Mount = { readonly device: string; readonly root: string; readonly path: string };

/**
 * Observed, not remembered: FAILED_PRECONDITION while this machine shows the volume's directory, or a part of it,
 * mounted somewhere, or something mounted in it. What other machines mount, nothing here shows.
 */
export async function requireUnmounted(root: string, id: string): Promise<void> {
  const mounts = parse(await readFile('/proc/self/mountinfo', 'utf8'));
  const path = volumePath(root, id);
  const origin = originOf(mounts, path);
  const user = mounts.find(
    mount =>
      isAtOrBelow(mount.path, path) ||
      (mount.device === origin?.device && isAtOrBelow(mount.root, origin.root)),
  );
  if (user) throw new Problem('FAILED_PRECONDITION', `volume "${id}" is still mounted at "${user.path}"`);
}

/** The filesystem that a path without links lies on, and where on it. */
function originOf(mounts: readonly Mount[], path: string): Omit<Mount, 'path'> | undefined {
  const above = mounts.filter(mount => isAtOrBelow(path, mount.path));
  const longest = Math.max(...above.map(mount => mount.path.length));
  const nearest = above.findLast(mount => mount.path.length === longest);
  if (!nearest) return undefined;
  const rest = path.slice(nearest.path === '/' ? 0 : nearest.path.length);
  return { device: nearest.device, root: `${nearest.root === '/' ? '' : nearest.root}${rest}` };
}

function isAtOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
}

function parse(mountinfo: string): readonly Mount[] {
  return mountinfo
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [, , device = '', root = '', path = ''] = line.split(' ');
      return { device, root: unescapeOctal(root), path: unescapeOctal(path) };
    });
}

function unescapeOctal(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCodePoint(Number.parseInt(octal, 8)),
  );
}
