import { statfsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { z } from 'zod';
import { areAddresses, fieldKinds } from '../../../src/api/attachment.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { hostPort } from '../../../src/lib/parsers.ts';
import { isListenedAt } from '../targets/listening.ts';
import { configfs } from './configfs.ts';

const addressList = z
  .array(z.string())
  .refine(areAddresses, `is ${fieldKinds.addresses.fault}, such as 192.0.2.10:4420`);

/** Where a target is reached, in settings. */
export const portals = {
  addresses: addressList.describe(
    'addresses with ports by which nodes reach this machine: numbers, IPv6 in brackets',
  ),
  listen: addressList
    .optional()
    .describe('addresses with ports of this machine, where they are others; without it those in addresses'),
} as const;

const modprobeTimeoutMs = 20_000;
/** The number of configfs in statfs. */
const configfsType = 0x62656570;

/** What a target of the kernel takes; `isServed` is true for an address that a target of the kernel has, whoever made that. */
type Needs = {
  readonly modules: readonly string[];
  readonly listen: readonly string[];
  readonly isServed: (address: string) => boolean;
};

/** What this machine lacks for a target of the kernel, one line each; changes nothing. */
export async function findLacks({ modules, listen, isServed }: Needs): Promise<readonly string[]> {
  const lacks: string[] = [];
  if (process.getuid?.() !== 0) lacks.push('the gateway does not run as root, who alone sets up targets');
  if (!isConfigfs())
    lacks.push(`configfs is not mounted: modprobe configfs; mount -t configfs configfs ${configfs}`);
  const { status } = await modprobe(['--dry-run', ...modules]);
  if (status !== 0) lacks.push(`the kernel has not all of the modules ${modules.join(', ')}`);
  return lacks.concat(listen.flatMap(address => findLackOf(address, isServed) ?? []));
}

function findLackOf(address: string, isServed: Needs['isServed']): string | undefined {
  const { host, port } = hostPort(address);
  const interfaces = Object.values(networkInterfaces()).flatMap(all => all ?? []);
  const isOwn = ['0.0.0.0', '::', ...interfaces.map(one => one.address)].includes(host);
  if (!isOwn) return `no interface of this machine has the address ${host}`;
  // In this order: a target that is made meanwhile is there before it listens.
  return isListenedAt(host, port) && !isServed(address) ? `another program has ${address}` : undefined;
}

/** Loads modules of the kernel; UNAVAILABLE where that fails. */
export async function loadModules(modules: readonly string[]): Promise<void> {
  const { status, stderr } = await modprobe(modules);
  if (status !== 0) throw unavailableProblem(`cannot load the modules ${modules.join(', ')}`, stderr);
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
