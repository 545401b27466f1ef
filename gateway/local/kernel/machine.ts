import { statfsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import * as z from 'zod';
import { canonicalAddress } from '../../../src/api/attachments/addresses.ts';
import { areAddresses, fieldKinds } from '../../../src/api/attachment.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec, failureText } from '../../../src/lib/exec.ts';
import type { Log } from '../../../src/lib/log.ts';
import { hostPort } from '../../../src/lib/parsers.ts';
import { isListenedAt } from '../targets/listening.ts';
import type { Names } from '../targets/names.ts';
import { configfs, type ConfigTree } from './configfs.ts';

const addressList = z
  .array(z.string())
  .refine(areAddresses, `is ${fieldKinds.addresses.fault}, such as 192.0.2.10:4420`)
  .overwrite(addresses => addresses.map(canonicalAddress));

/** The settings of a target's addresses. */
export const portals = {
  addresses: addressList.describe('addresses of this machine for nodes, as IP:PORT, IPv6 in brackets'),
  listen: addressList
    .optional()
    .describe(
      'addresses to listen at, as IP:PORT, if this machine has others than those in addresses; default: addresses',
    ),
} as const;

/** The parts of an export over configfs. `load` loads the kernel's target modules. */
export type TargetParts = {
  readonly tree: ConfigTree;
  readonly names: Names;
  readonly log: Log;
  readonly load: () => Promise<void>;
};

const modprobeTimeoutMs = 20_000;
/** The type of configfs in statfs. */
const configfsType = 0x62656570;

/**
 * The requirements of a kernel target. `isServed` is true for an address that a target of the kernel already has,
 * even one of another program.
 */
type Requirements = {
  readonly modules: readonly string[];
  readonly listen: readonly string[];
  readonly isServed: (address: string) => boolean;
};

/** Reports the faults of this machine for a kernel target, one line each. Changes nothing. */
export async function findMachineFaults({
  modules,
  listen,
  isServed,
}: Requirements): Promise<readonly string[]> {
  const faults: string[] = [];
  if (process.getuid?.() !== 0) faults.push('the gateway does not run as root; only root can set up targets');
  if (!isConfigfs())
    faults.push(`configfs is not mounted; run: modprobe configfs; mount -t configfs configfs ${configfs}`);
  const { status } = await modprobe(['--dry-run', ...modules]);
  if (status !== 0) faults.push(`the kernel lacks one of the modules ${modules.join(', ')}; install them`);
  return faults.concat(listen.flatMap(address => findAddressFault(address, isServed) ?? []));
}

function findAddressFault(address: string, isServed: Requirements['isServed']): string | undefined {
  const { host, port } = hostPort(address);
  const interfaces = Object.values(networkInterfaces()).flatMap(all => all ?? []);
  const isOwn = ['0.0.0.0', '::', ...interfaces.map(one => one.address)].includes(host);
  if (!isOwn) return `no interface of this machine has the address ${host}`;
  // The order matters: a target that is created meanwhile exists before it listens.
  return isListenedAt(host, port) && !isServed(address) ? `another program listens at ${address}` : undefined;
}

/** Loads kernel modules; UNAVAILABLE on failure. */
export async function loadModules(modules: readonly string[]): Promise<void> {
  const { status, stderr } = await modprobe(modules);
  if (status === 0) return;
  const reason = failureText(stderr);
  throw unavailableProblem(
    `cannot load the modules ${modules.join(', ')}${reason === '' ? '' : `: ${reason}`}`,
  );
}

function modprobe(args: readonly string[]) {
  return exec('modprobe', ['--quiet', '--all', ...args], { timeoutMs: modprobeTimeoutMs });
}

function isConfigfs(): boolean {
  try {
    return statfsSync(configfs).type === configfsType;
  } catch {
    return false;
  }
}
