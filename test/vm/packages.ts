import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packagesOf } from '../packages.ts';

/**
 * The directory into which `packages.sh` unpacks the virtual machine's packages; it is laid over this machine's root.
 */
export const packages: string = packagesOf('vm');

/** Returns the reason why no virtual machine can run here; undefined if one can. */
export function whyNoMachine(): string | undefined {
  if (process.arch !== 'x64') return 'the virtual machine is for x86-64 only';
  if (!existsSync(packages)) return 'needs the packages of the virtual machine: run test/vm/packages.sh';
  if (findKernel() === undefined) return 'needs a Debian kernel: linux-image-amd64';
  return undefined;
}

export type Kernel = { readonly release: string; readonly image: string; readonly modules: string };

/** Finds the unpacked kernel, or one that is installed on this machine. */
export function findKernel(): Kernel | undefined {
  for (const root of [packages, '/']) {
    const all = join(root, 'usr/lib/modules');
    for (const release of existsSync(all) ? readdirSync(all) : []) {
      const kernel = {
        release,
        image: join(root, 'boot', `vmlinuz-${release}`),
        modules: join(all, release),
      };
      if (existsSync(kernel.image) && existsSync(join(kernel.modules, 'modules.dep'))) return kernel;
    }
  }
  return undefined;
}

/** Returns the path of a program among the packages, or on this machine. */
export function pathOf(program: string): string {
  const unpacked = join(packages, program);
  return existsSync(unpacked) ? unpacked : join('/', program);
}
