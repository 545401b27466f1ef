import { packagesOf } from '../packages.ts';
import { kernelsIn, type Kernel } from '../vm/packages.ts';

/** The kernel that `packages.sh` unpacks. Unlike the usual one it authenticates NVMe connections (DH-HMAC-CHAP). */
export const [newerKernel]: readonly Kernel[] = kernelsIn(packagesOf('newer-kernel'));

/** The reason why no virtual machine has the newer kernel; undefined if one can. */
export const whyNoNewerKernel: string | undefined = newerKernel
  ? undefined
  : 'needs the kernel of the backports of Debian 12: run test/newer-kernel/packages.sh';
