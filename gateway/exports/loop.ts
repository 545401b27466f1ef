import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { preconditionProblem } from '../../src/api/problem.ts';
import { accessModes } from '../../src/api/storage.ts';
import { exec } from '../../src/lib/exec.ts';
import { codeOf, ignore } from '../backends/local/files.ts';
import type { Export, ExportedRef, ExportPlugin } from '../export.ts';

const settings = z.strictObject({
  protocol: z.literal('loop').describe('nodes are this machine, and make loop devices'),
});

/** For nodes that are this machine: they make the loop device, and this one sees it. */
export const loop: ExportPlugin<typeof settings> = { settings, open: async () => openLoop() };

/** The export by loop devices, which needs nothing. */
export function openLoop(): Export {
  return {
    protocol: 'loop',
    accessModes: accessModes.filter(mode => mode.startsWith('SINGLE_NODE')),
    publish: async ({ path }) => ({ protocol: 'loop', path }),
    withdraw: requireUnused,
    // Whether all of them are loop devices' is asked while they are listed.
    restore: async attached => void (await Array.fromAsync(attached)),
  };
}

/** Observed, not remembered: while a loop device has the file open, a node can read and write it. */
async function requireUnused({ id, path }: ExportedRef): Promise<void> {
  const devices = await loopDevicesOf(path);
  if (devices.length > 0)
    throw preconditionProblem(`volume "${id}" is still in use by /dev/${devices.join(', /dev/')}`);
}

/** The loop devices of this machine that can write to the file. */
export async function writableLoopDevicesOf(path: string): Promise<readonly string[]> {
  const devices = await loopDevicesOf(path);
  return devices.filter(device => readText(`/sys/block/${device}/ro`) !== '1');
}

/** The loop devices of this machine that have the file open, by name; one whose file was deleted meanwhile counts. */
export async function loopDevicesOf(path: string): Promise<readonly string[]> {
  const names = await (looking ??= new Promise(setImmediate).then(listLoops));
  if (names.length === 0) return [];
  const own = await readIdentity(path);
  const identities = await identifyLoops(names);
  return names.filter(name => {
    const shown = readText(`/sys/block/${name}/loop/backing_file`);
    if (shown === undefined) return false;
    const identity = identities.get(name);
    const isDeleted = shown.endsWith(deletedSuffix);
    if (identity !== undefined && !isDeleted) return identity === own;
    // Sysfs shows a part of the path when the mount namespace in which the file was opened, such as a container's, is gone.
    return path.endsWith(isDeleted ? shown.slice(0, -deletedSuffix.length) : shown);
  });
}

/** Who asks at about the same time shares one look, which comes after all of them have asked. */
let looking: Promise<readonly string[]> | undefined;

/** Those that have a file. The kernel has many more that are free, and each look at one is a file of its own. */
function listLoops(): readonly string[] {
  looking = undefined;
  const partitions = readText('/proc/partitions') ?? '';
  return Array.from(partitions.matchAll(/ (loop\d+)$/gm), ([, name = '']) => name);
}

const deletedSuffix = ' (deleted)';

/** `major:minor inode`, as losetup shows it; undefined when the file is missing. */
async function readIdentity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(ignore('ENOENT'));
  if (!found) return undefined;
  const { dev, ino } = found;
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  return `${major}:${minor} ${ino}`;
}

/** The file of a loop device, by the device's sequence number: no other ever has that, and a device keeps its file. */
const files = new Map<string, string>();
const mostFiles = 4_096;
const listing = ['--list', '--noheadings', '--output', 'NAME,BACK-MAJ:MIN,BACK-INO'];
const listTimeoutMs = 10_000;

/** Which file each loop device has, whatever sysfs calls it. Those that cannot be asked, as without root, are left out. */
async function identifyLoops(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const uses = names.map(name => ({ name, use: useOf(name) }));
  const known = new Map(uses.map(({ name, use = '' }) => [name, files.get(use)]));
  if ([...known.values()].includes(undefined)) {
    const { stdout } = await exec('losetup', listing, { timeoutMs: listTimeoutMs });
    if (files.size >= mostFiles) files.clear();
    for (const { name, use } of uses) {
      const [, number, inode] = new RegExp(`^/dev/${name} +(\\d+:\\d+) +(\\d+) *$`, 'm').exec(stdout) ?? [];
      // One that got another file meanwhile is not known.
      if (inode === undefined || useOf(name) !== use) continue;
      known.set(name, `${number} ${inode}`);
      if (use !== undefined) files.set(use, `${number} ${inode}`);
    }
  }
  return new Map([...known].filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function useOf(name: string): string | undefined {
  return readText(`/sys/block/${name}/diskseq`);
}

/** Undefined when the device is disconnected or not set up. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
