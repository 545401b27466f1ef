import { Problem } from '../src/api/problem.ts';
import type { Capability } from '../src/api/resources.ts';
import type { Host } from './host.ts';
import type { Mount } from '../src/lib/mountinfo.ts';

/** FAILED_PRECONDITION for a context on a kernel without SELinux, where `mount` would drop it without a word. */
export async function requireSelinux({ mountFlags = [] }: Capability, host: Host): Promise<void> {
  if (contextOf(mountFlags) === undefined) return;
  const known = (await host.readText('/proc/filesystems')) ?? '';
  if (!/\tselinuxfs$/m.test(known))
    throw new Problem(
      'FAILED_PRECONDITION',
      'mount flag "context" cannot be had: the kernel of this node has no SELinux, or it is off',
    );
}

/** True when a mount has the context that was asked for; what was not asked for does not matter. */
export function hasContext({ superOptions }: Mount, { mountFlags = [] }: Capability): boolean {
  const asked = contextOf(mountFlags);
  if (asked === undefined) return true;
  // A context with commas is shown in quotes, and was taken apart as if they parted options.
  const shown = /(?:^|,)context=(?:"([^"]*)"|([^,]*))/.exec(superOptions.join(','));
  return (shown?.[1] ?? shown?.[2]) === asked;
}

function contextOf(flags: readonly string[]): string | undefined {
  return flags
    .find(flag => flag.startsWith('context='))
    ?.slice('context='.length)
    .replaceAll('"', '');
}
