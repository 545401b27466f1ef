import { testInMachine } from './guests.ts';

testInMachine(
  'a machine with disks: NBD, iSCSI, multipath, NVMe over TCP, encryption, and an ext4 that grows',
  [
    'test/vm/guest/nbd.guest.ts',
    'test/vm/guest/iscsi.guest.ts',
    'test/vm/guest/device.guest.ts',
    'test/vm/guest/nvme-tcp.guest.ts',
    'test/vm/guest/encryption.guest.ts',
    'test/vm/guest/growth.guest.ts',
  ],
);
