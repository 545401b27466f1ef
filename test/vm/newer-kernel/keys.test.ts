import { newerKernel, whyNoNewerKernel } from '../../newer-kernel/kernel.ts';
import { testInMachine } from '../guests.ts';

testInMachine(
  'a machine whose kernel authenticates NVMe connections',
  ['test/vm/guest/nvme-tcp.guest.ts', 'test/vm/guest/exports/keys.guest.ts'],
  { kernel: newerKernel, why: whyNoNewerKernel },
);
