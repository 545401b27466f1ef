import { reasonOf } from '../../../src/lib/words/failures.ts';
import { access, constants } from 'node:fs/promises';
import { readMonitors, type Mode } from './attachments.ts';
import { readDataPool } from './shares/filesystem.ts';
import { createCommands, invalid, missing, type Commands, type Login } from './commands.ts';

const connectSeconds = 10;
/** Longer than the commands' own time limit, which then gives the better error. */
const timeoutMs = (connectSeconds + 10) * 1_000;
/** Exit statuses (errno): the user lacks a right, a monitor rejects the key, no monitor answers. */
const [notPermitted, denied, timedOut] = [1, 13, 110] as const;
const ends = [notPermitted, missing, denied, invalid, timedOut];

/** The pool or filesystem to check, and the protocol of its nodes. */
type PoolLocation = Login & {
  readonly pool?: string | undefined;
  readonly filesystem?: string | undefined;
  readonly mode: Mode;
};

/**
 * Reports the obstacles between this machine and a pool, one line each: programs, files, the cluster, the pool. It
 * queries the cluster only if nothing is missing on this machine, and changes nothing. UNAVAILABLE when a command
 * fails for another reason.
 */
export async function checkPool(location: PoolLocation): Promise<readonly string[]> {
  const { conf, keyring } = location;
  const commands = createCommands(location);
  const localFaults = await Promise.all([
    commands.lacks(),
    fileFaults(conf, 'the configuration of the cluster'),
    fileFaults(keyring, "the user's keyring"),
  ]);
  const faults = localFaults.flat();
  if (faults.length > 0) return faults;
  const clusterFaultsFound = await clusterFaults(commands, location);
  if (clusterFaultsFound.length > 0) return clusterFaultsFound;
  await readMonitors(commands, location.mode);
  return location.filesystem === undefined
    ? poolFaults(commands, location)
    : filesystemFaults(commands, location.filesystem);
}

async function fileFaults(path: string, what: string): Promise<readonly string[]> {
  return access(path, constants.R_OK).then(
    () => [],
    (error: unknown) => [`${what}, "${path}", cannot be read: ${reasonOf(error)}`],
  );
}

/**
 * Explains why the cluster is out of reach. `ceph` exits with 1 for every reason, so the exit status of `rbd`
 * decides.
 */
async function clusterFaults(commands: Commands, location: PoolLocation): Promise<readonly string[]> {
  const args = ['--connect-timeout', String(connectSeconds), 'mon', 'dump'];
  const { status } = await commands.ceph(args, { fine: ends, timeoutMs });
  if (status === 0) return [];
  const { conf, keyring, user } = location;
  const why = await namespaceStatus(commands, location.pool ?? '');
  if (why === timedOut) return [`no monitor of "${conf}" answered within ${connectSeconds} s`];
  if (why === denied) return [`the cluster rejects the key of user "${user}" in "${keyring}"`];
  if (why === missing) return [`"${conf}" names no monitors`];
  return [`"${keyring}" has no key of user "${user}", or "${conf}" is not a Ceph configuration`];
}

async function poolFaults(commands: Commands, { pool = '', user }: PoolLocation): Promise<readonly string[]> {
  const status = await namespaceStatus(commands, pool);
  if (status === missing) return [`the cluster has no pool "${pool}"`];
  return status === 0 ? [] : [`user "${user}" may not use pool "${pool}"`];
}

async function filesystemFaults(commands: Commands, name: string): Promise<readonly string[]> {
  return readDataPool(commands, name).then(
    () => [],
    (error: Error) => [error.message],
  );
}

async function namespaceStatus({ rbd }: Commands, pool: string): Promise<number> {
  const args = ['--client-mount-timeout', String(connectSeconds), 'namespace', 'ls', pool];
  return (await rbd(args, { fine: ends, timeoutMs })).status;
}
