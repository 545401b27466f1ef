import { testInMachine } from './guests.ts';

testInMachine('a machine with SCSI disks: iSCSI, multipath, disks that are plugged in, and encryption', [
  'test/vm/guest/iscsi.guest.ts',
  'test/vm/guest/device.guest.ts',
  'test/vm/guest/encryption.guest.ts',
]);
