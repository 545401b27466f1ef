import { dlopen, getInt32 } from 'node:ffi';
import { getSystemErrorMessage } from 'node:util';

// A separate program, since its calls may block: cut-off.ts DEVICE DISKSEQ. It shrinks a loop device to the first sector of its
// file, even while the device is in use, so that all requests beyond fail. `losetup` can do so only with an unused device. The
// program does nothing to a device that has another file by now. DISKSEQ is the sequence number of the device, which is new for
// each file; it is empty before Linux 5.15.

const { functions: libc } = dlopen('libc.so.6', {
  open: { arguments: ['string', 'i32'], return: 'i32' },
  ioctl: { arguments: ['i32', 'u64', 'buffer'], return: 'i32' },
  __errno_location: { arguments: [], return: 'pointer' },
});

const { __errno_location: findErrno } = libc;
const [readOnly, closeOnExec] = [0, 0o2000000];
/** From `linux/loop.h`: two requests, and the size of `struct loop_info64` with the offset of its `lo_sizelimit`. */
const [setStatus, getStatus, statusBytes, sizeLimitOffset] = [0x4c04n, 0x4c05n, 232, 32];
/** From `linux/fs.h`. */
const getDiskseq = 0x80081280n;
/** The smallest size limit, since 0 means no limit. */
const sectorBytes = 512n;

function cutOff(path: string, diskseq: string): void {
  // A device that is open keeps its file.
  const device = requireDone(libc.open(path, readOnly | closeOnExec), 'open');
  if (diskseq !== '' && BigInt(diskseq) !== readDiskseq(device)) return;
  const status = Buffer.alloc(statusBytes);
  requireDone(libc.ioctl(device, getStatus, status), 'LOOP_GET_STATUS64');
  status.writeBigUInt64LE(sectorBytes, sizeLimitOffset);
  requireDone(libc.ioctl(device, setStatus, status), 'LOOP_SET_STATUS64');
}

function readDiskseq(device: number): bigint {
  const diskseq = Buffer.alloc(8);
  requireDone(libc.ioctl(device, getDiskseq, diskseq), 'BLKGETDISKSEQ');
  return diskseq.readBigUInt64LE();
}

function requireDone(result: number, call: string): number {
  if (result >= 0) return result;
  const errno = getInt32(findErrno());
  throw new Error(`${call}: ${getSystemErrorMessage(-errno)}`);
}

try {
  const [, , path, diskseq] = process.argv;
  if (path !== undefined && diskseq !== undefined) cutOff(path, diskseq);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
