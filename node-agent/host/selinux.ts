import { preconditionProblem, type Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Host } from '../host.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';

/** FAILED_PRECONDITION for a context on a kernel without SELinux, where `mount` would drop it without a word. */
export async function requireSelinux({ mountFlags = [] }: Capability, host: Host): Promise<void> {
  if (contextOf(mountFlags) === undefined) return;
  const known = (await host.readText('/proc/filesystems')) ?? '';
  if (!/\tselinuxfs$/m.test(known))
    throw preconditionProblem(
      'mount flag "context" cannot be used: the kernel of this node has no SELinux, or it is off',
    );
}

/** True when a mount has the context that was asked for, if one was, however the kernel spells it. */
export function hasContext({ superOptions }: Mount, { mountFlags = [] }: Capability): boolean {
  const asked = contextOf(mountFlags);
  if (asked === undefined) return true;
  // A context with commas is shown in quotes, and was taken apart as if they parted options.
  const match = /(?:^|,)context=(?:"([^"]*)"|([^,]*))/.exec(superOptions.join(','));
  const shown = match?.[1] ?? match?.[2];
  return shown !== undefined && toCanonical(shown) === toCanonical(asked);
}

/** The problem that a volume was mounted without its context, and what `mount` misses on this node if it is that. */
export async function contextDroppedProblem(volumeId: string, host: Host): Promise<Problem> {
  const what = `volume "${volumeId}" was mounted without the context that was asked for`;
  const missing = await findMissing(host);
  return missing === undefined
    ? unavailableProblem(what)
    : preconditionProblem(`${what}: ${missing}, without which "mount" takes SELinux for off`);
}

/** libselinux asks for a selinuxfs that can be written, and for its file: a container has neither by itself. */
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

/** A context in one spelling of many: of each level the categories one by one, and of a range to the same level that level. */
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

/** `c1.c3` is `c1`, `c2` and `c3`. */
function spread(categories: string): readonly string[] {
  const [, first, last] = /^c(\d+)\.c(\d+)$/.exec(categories) ?? [];
  if (first === undefined) return [categories];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => `c${Number(first) + index}`);
}
