import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packagesOf } from '../packages.ts';

/**
 * The directory into which `packages.sh` unpacks the virtual machine's packages; it is laid over this machine's root.
 */
export const packages: string = packagesOf('vm');

/** Returns the reason why no virtual machine with this kernel can run here; undefined if one can. */
export function whyNoMachine(kernel = findKernel()): string | undefined {
  if (process.arch !== 'x64') return 'the virtual machine is for x86-64 only';
  if (!existsSync(packages)) return 'needs the packages of the virtual machine: run test/vm/packages.sh';
  if (kernel === undefined) return 'needs a Debian kernel: linux-image-amd64';
  return undefined;
}

/** The paths of a kernel's image and of its modules. */
export type Kernel = { readonly image: string; readonly modules: string };

/** Finds the unpacked kernel, or one that is installed on this machine. */
export function findKernel(unpacked = packages): Kernel | undefined {
  return [unpacked, '/'].flatMap(kernelsIn)[0];
}

/** Lists the complete kernels below a root directory. */
export function kernelsIn(root: string): readonly Kernel[] {
  const all = join(root, 'usr/lib/modules');
  return (existsSync(all) ? readdirSync(all) : [])
    .map(release => ({ image: join(root, 'boot', `vmlinuz-${release}`), modules: join(all, release) }))
    .filter(({ image, modules }) => existsSync(image) && existsSync(join(modules, 'modules.dep')));
}

/** Returns the path of a program among the packages, or on this machine. */
export function pathOf(program: string): string {
  const unpacked = join(packages, program);
  return existsSync(unpacked) ? unpacked : join('/', program);
}
