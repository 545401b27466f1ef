import { testInMachine } from './guests.ts';

testInMachine('a machine with disks: NVMe over TCP, and an ext4 that grows', [
  'test/vm/guest/nvme-tcp.guest.ts',
  'test/vm/guest/growth.guest.ts',
]);
