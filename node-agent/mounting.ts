import { Problem } from '../src/api/problem.ts';
import { runWell } from './commands.ts';
import type { Host } from './host.ts';
import { mountsAt, mountsBelow, topMount, type Mount } from './mountinfo.ts';

/**
 * The number (`major:minor`) of the block device that a mount shows, as a filesystem or as the bound device node;
 * undefined when it shows none. btrfs and device nodes are mounted from an anonymous device, so the name decides
 * there; a device that is gone has no number, and its name is given back instead.
 */
export async function deviceNumberOf(mount: Mount, host: Host): Promise<string | undefined> {
  if (isDeviceNode(mount)) return numberOf(mount.root.slice(1), host);
  if (!mount.device.startsWith('0:')) return mount.device;
  if (mount.source.startsWith('/dev/')) return numberOf(mount.source.slice('/dev/'.length), host);
  return undefined;
}

async function numberOf(name: string, host: Host): Promise<string> {
  return (await host.readText(`/sys/class/block/${name}/dev`))?.trim() ?? name;
}

/** True for a device node that is bound to a file, as a block volume is published. */
function isDeviceNode({ type, root }: Mount): boolean {
  return type === 'devtmpfs' && /^\/[^/]+$/.test(root);
}

/** Runs `mount` and returns what mountinfo shows at the path then, which must be the device with that number. */
export async function mountAndSee(
  host: Host,
  args: readonly string[],
  { path, number }: { readonly path: string; readonly number: string },
): Promise<Mount> {
  await runWell(host, { command: 'mount', args });
  const mount = topMount(await host.mounts(), path);
  if (!mount) throw new Problem('UNAVAILABLE', `nothing is mounted at "${path}" after mount succeeded`);
  if ((await deviceNumberOf(mount, host)) !== number)
    throw new Problem(
      'UNAVAILABLE',
      `${describe(mount)} is at "${path}" after device ${number} was mounted there`,
    );
  return mount;
}

/** Unmounts, with more options for umount, until mountinfo shows nothing at the path; what is mounted below it is a `Problem`, and stays. */
export async function unmountAll(host: Host, path: string, options: readonly string[] = []): Promise<void> {
  for (let before = Number.POSITIVE_INFINITY; ;) {
    const mounts = await host.mounts();
    const [below] = mountsBelow(mounts, path);
    if (below)
      throw new Problem(
        'FAILED_PRECONDITION',
        `"${path}" has ${describe(below)} below it, at "${below.path}"`,
      );
    const count = mountsAt(mounts, path).length;
    if (count === 0) return;
    if (count >= before)
      throw new Problem('UNAVAILABLE', `"${path}" is still mounted after it was unmounted`);
    await runWell(host, { command: 'umount', args: [...options, '--', path] });
    before = count;
  }
}

/** A mount in a few words. */
export function describe({ type, source, device }: Mount): string {
  return `${type} of "${source}" (${device})`;
}
