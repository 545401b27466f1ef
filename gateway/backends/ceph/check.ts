import { access, constants } from 'node:fs/promises';
import { readMonitors, type Mode } from './attachments.ts';
import { readDataPool } from './shares/filesystem.ts';
import { createCommands, invalid, missing, type Commands, type Login } from './commands.ts';

const connectSeconds = 10;
/** Their own time is up first, where they can be asked at all. */
const timeoutMs = (connectSeconds + 10) * 1_000;
/** The system's numbers for who may not, for whom a monitor does not take, and for who was not answered. */
const [notPermitted, denied, timedOut] = [1, 13, 110] as const;
const ends = [notPermitted, missing, denied, invalid, timedOut];

/** Where a pool or a filesystem is, and how nodes are to reach it. */
export type Wanted = Login & {
  readonly pool?: string | undefined;
  readonly filesystem?: string | undefined;
  readonly mode: Mode;
};

/**
 * What stands between this machine and a pool, one line each: programs, files, the cluster, the pool. The cluster is asked once nothing
 * is missing here, and changed by nothing. Throws UNAVAILABLE for what a command does not tell.
 */
export async function checkPool(wanted: Wanted): Promise<readonly string[]> {
  const { conf, keyring } = wanted;
  const commands = createCommands(wanted);
  const here = await Promise.all([
    commands.lacks(),
    fileFaults(conf, 'the configuration of the cluster'),
    fileFaults(keyring, "the user's keyring"),
  ]);
  const faults = here.flat();
  if (faults.length > 0) return faults;
  const unreached = await clusterFaults(commands, wanted);
  if (unreached.length > 0) return unreached;
  await readMonitors(commands, wanted.mode);
  return wanted.filesystem === undefined
    ? poolFaults(commands, wanted)
    : filesystemFaults(commands, wanted.filesystem);
}

async function fileFaults(path: string, what: string): Promise<readonly string[]> {
  return access(path, constants.R_OK).then(
    () => [],
    ({ code = '' }: NodeJS.ErrnoException) => [`${what}, "${path}", cannot be read (${code})`],
  );
}

/** `ceph` ends with 1 for whatever keeps it from the cluster; `rbd` tells why. */
async function clusterFaults(commands: Commands, wanted: Wanted): Promise<readonly string[]> {
  const args = ['--connect-timeout', String(connectSeconds), 'mon', 'dump'];
  const { status } = await commands.ceph(args, { fine: ends, timeoutMs });
  if (status === 0) return [];
  const { conf, keyring, user } = wanted;
  const why = await namespaceStatus(commands, wanted.pool ?? '');
  if (why === timedOut) return [`no monitor of "${conf}" answered within ${connectSeconds} s`];
  if (why === denied) return [`the cluster does not take the key of user "${user}" in "${keyring}"`];
  if (why === missing) return [`"${conf}" names no monitors`];
  return [`"${keyring}" holds no key of user "${user}", or "${conf}" is no configuration of Ceph`];
}

async function poolFaults(commands: Commands, { pool = '', user }: Wanted): Promise<readonly string[]> {
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
