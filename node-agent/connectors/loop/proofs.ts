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

/**
 * Leaves out the devices that were proved to have the file of another path, wherever that file is by now. A node may have
 * hundreds of devices, so one number of each is read, and one after the other takes the least time.
 */
export async function withoutProvedOthers(
  names: readonly string[],
  path: string,
  host: Host,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (const name of names) {
    const proof = proofs.get(Number(await host.readText(`/sys/block/${name}/diskseq`)));
    if (proof === undefined || proof.path === path) left.push(name);
  }
  return left;
}

/** Reads a device's sequence number; NaN before Linux 5.15. */
async function readDiskseq(device: string, host: Host): Promise<number> {
  return Number((await readLine(`${device}/diskseq`, host)) ?? Number.NaN);
}
