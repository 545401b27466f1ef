import { testInMachine } from './guests.ts';

testInMachine('a machine with the NBD client of its kernel', ['test/vm/guest/nbd.guest.ts']);
testInMachine('a machine with iSCSI, multipath and SCSI disks', [
  'test/vm/guest/iscsi.guest.ts',
  'test/vm/guest/device.guest.ts',
]);
testInMachine('a machine with NVMe over TCP', [
  'test/vm/guest/nvme-tcp.guest.ts',
  'test/vm/guest/nvme-keys.guest.ts',
]);
