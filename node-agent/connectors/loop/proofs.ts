import type { Host } from '../../host.ts';
import { readBacking, readLine } from '../../host/sysfs.ts';

/**
 * Proofs that a device was the only one of its file: by the device's sequence number, which is new for each file of a device,
 * the file's path and the path in sysfs at that time.
 */
const proofs = new Map<number, { readonly path: string; readonly backing: string }>();
const maxProofs = 4_096;

/** Records that the device with this number is the only one of the file. */
export async function setProof(number: string, path: string, host: Host): Promise<void> {
  const device = `/sys/dev/block/${number}`;
  const diskseq = await readDiskseq(device, host);
  const backing = await readBacking(device, host);
  if (Number.isNaN(diskseq) || backing === undefined) return;
  if (proofs.size >= maxProofs) proofs.clear();
  proofs.set(diskseq, { path, backing });
}

/**
 * Reads a device's sequence number, and the path of its proof; undefined for a device that has lost its file. A device never
 * changes its file, so a proof holds until the path in sysfs changes: the file was moved or deleted, or the mount namespace
 * that opened it has ended.
 */
export async function readProof(device: string, host: Host) {
  const diskseq = await readDiskseq(device, host);
  const backing = await readBacking(device, host);
  if (backing === undefined) return undefined;
  const proof = proofs.get(diskseq);
  return { diskseq, path: proof?.backing === backing ? proof.path : undefined };
}

/** Leaves out the devices that were proved to have the file of another path, wherever that file is by now. */
export async function withoutProvedOthers(
  names: readonly string[],
  path: string,
  host: Host,
): Promise<readonly string[]> {
  const sequenceNumbers = await readSequenceNumbers(names, host);
  return names.filter(name => {
    const proof = proofs.get(Number(sequenceNumbers.get(name)));
    return proof === undefined || proof.path === path;
  });
}

/** Reads the sequence numbers of devices by their names. A node may have hundreds, and one after the other takes the least time. */
export async function readSequenceNumbers(names: readonly string[], host: Host) {
  const read = new Map<string, string>();
  for (const name of names) read.set(name, await readSequenceNumber(name, host));
  return read;
}

/** Reads a device's sequence number, which is new for each file of the device; empty before Linux 5.15. */
export async function readSequenceNumber(name: string, host: Host): Promise<string> {
  return (await readLine(`/sys/block/${name}/diskseq`, host)) ?? '';
}

/** Reads a device's sequence number; NaN before Linux 5.15. */
async function readDiskseq(device: string, host: Host): Promise<number> {
  return Number((await readLine(`${device}/diskseq`, host)) ?? Number.NaN);
}
