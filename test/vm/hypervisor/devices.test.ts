import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

const files = ['test/vm/guest/exports/libvirt.guest.ts'];

testInMachine('a hypervisor with LVM', files);

testInMachine('a hypervisor with ZFS', files, { root: zfsRoot, why: whyNoZfs, env: { DEVICES: 'zfs' } });
