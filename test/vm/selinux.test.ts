import { testInMachine } from './guests.ts';

testInMachine('a machine whose kernel has SELinux', ['test/vm/guest/selinux.guest.ts'], {
  parameters: ['security=selinux', 'enforcing=0', 'audit=0'],
});
