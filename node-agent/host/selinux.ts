import { preconditionProblem, type Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Host } from '../host.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';

/** FAILED_PRECONDITION for a context on a kernel without SELinux, where `mount` would silently drop the context. */
export async function requireSelinux({ mountFlags = [] }: Capability, host: Host): Promise<void> {
  if (contextOf(mountFlags) === undefined) return;
  const known = (await host.readText('/proc/filesystems')) ?? '';
  if (!/\tselinuxfs$/m.test(known))
    throw preconditionProblem(
      'mount flag "context" cannot be used: SELinux is missing or off in the kernel of this node; remove the flag or turn SELinux on',
    );
}

/** True if a mount has the requested context, in any spelling of the kernel, or if no context was requested. */
export function hasContext({ superOptions }: Mount, { mountFlags = [] }: Capability): boolean {
  const requested = contextOf(mountFlags);
  if (requested === undefined) return true;
  // A context with commas is shown in quotes, but `superOptions` has been split at the commas.
  const match = /(?:^|,)context=(?:"([^"]*)"|([^,]*))/.exec(superOptions.join(','));
  const shown = match?.[1] ?? match?.[2];
  return shown !== undefined && toCanonical(shown) === toCanonical(requested);
}

export async function contextDroppedProblem(volumeId: string, host: Host): Promise<Problem> {
  const what = `volume "${volumeId}" was mounted without the requested SELinux context`;
  const missing = await findMissing(host);
  return missing === undefined
    ? unavailableProblem(what)
    : preconditionProblem(
        `${what}: ${missing}, so "mount" takes SELinux for off; mount it into the container`,
      );
}

/** Finds a missing prerequisite of libselinux: a writable selinuxfs or its file; a container has neither by itself. */
async function findMissing(host: Host): Promise<string | undefined> {
  if (!(await host.mounts()).some(isWritableSelinuxfs))
    return 'the agent has no "/sys/fs/selinux" that it may write to';
  if ((await host.kindOf('/etc/selinux/config')) === 'nothing')
    return 'the agent has no "/etc/selinux/config"';
  return undefined;
}

function isWritableSelinuxfs({ type, options, superOptions }: Mount): boolean {
  return type === 'selinuxfs' && !options.includes('ro') && !superOptions.includes('ro');
}

function contextOf(flags: readonly string[]): string | undefined {
  return flags
    .find(flag => flag.startsWith('context='))
    ?.slice('context='.length)
    .replaceAll('"', '');
}

/** Returns the canonical form of a context: categories listed one by one, and a range within one level as that level. */
function toCanonical(context: string): string {
  const [user, role, type, ...range] = context.split(':');
  const levels = range.join(':').split('-').map(toCanonicalLevel);
  return [user, role, type, [...new Set(levels)].join('-')].join(':');
}

function toCanonicalLevel(level: string): string {
  const [sensitivity, categories] = level.split(':');
  if (categories === undefined) return level;
  return `${sensitivity}:${[...new Set(categories.split(',').flatMap(spread))].toSorted().join(',')}`;
}

/** Expands `c1.c3` to `c1`, `c2` and `c3`. */
function spread(categories: string): readonly string[] {
  const [, first, last] = /^c(\d+)\.c(\d+)$/.exec(categories) ?? [];
  if (first === undefined) return [categories];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => `c${Number(first) + index}`);
}
