import { existsSync } from 'node:fs';
import { packagesOf } from '../packages.ts';

/** The directory with the packages of the virtual machine, and with ZFS for its kernel. */
export const zfsRoot: string = packagesOf('zfs', 'vm');

/** The reason why there is no ZFS; undefined if there is. */
export const whyNoZfs: string | undefined = existsSync(zfsRoot)
  ? undefined
  : 'needs ZFS: run test/zfs/packages.sh, which builds it in ten minutes or says why it cannot';
