import { isDeepStrictEqual } from 'node:util';
import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import { luksMinimumBytes } from '../../src/api/filesystems/sizes.ts';
import type { Device, Secrets } from '../connector.ts';
import type { Host } from '../host.ts';
import { describeFailure, requireModule, runToEnd } from '../host/commands.ts';
import { readDiskseq, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import { failureOf } from './growth-faults.ts';
import { markOf, probe, requireFormattable, writeFormat, type OpenedDevice } from './format.ts';
import { closeMapping, findDecrypted, findMapping, growMapping, mappedNameOf } from './mapping.ts';
import { readPassphrases, type Passphrases } from './passphrases.ts';

/** A volume's connected device, still encrypted. */
type ConnectedDevice = Omit<OpenedDevice, 'isNew'>;

/** The key derivation: always with 16 MiB of memory and without a benchmark of the machine. */
const derivation =
  '--pbkdf argon2id --pbkdf-memory 16384 --pbkdf-parallel 1 --pbkdf-force-iterations 4'.split(' ');
/** The layout, independent of cryptsetup's defaults. All filesystems can be made on sectors of 512 bytes. */
const layout = [
  '--cipher',
  'aes-xts-plain64',
  '--key-size',
  '512',
  '--hash',
  'sha256',
  '--sector-size',
  '512',
];
/** Reads the passphrase from standard input and suppresses questions. */
const quiet = ['--batch-mode', '--type', 'luks2', '--key-file', '-'];
/** The exit status of cryptsetup if the given key unlocks nothing. */
const wrongKeyStatus = 2;

/**
 * Opens an encrypted volume's device; a device that is proved blank is encrypted first. FAILED_PRECONDITION for a device with
 * any other content and UNAUTHENTICATED for a wrong passphrase; both leave the device unchanged. An open device needs no
 * secrets.
 */
export async function openEncrypted(
  volume: DeviceVolume,
  connected: ConnectedDevice,
  secrets: Secrets,
): Promise<OpenedDevice> {
  const { agent, record } = volume;
  const { device } = connected;
  const { host } = agent;
  const { attachment } = record;
  // A device with the mark has never been mounted, so it is encrypted again even if an interrupted try left a header.
  const isMarked = isDeepStrictEqual(record.formatting, markOf(record, device));
  const known = await findMapping(attachment, host);
  if (known && !isMarked && known.below === device.number) {
    const detail = await failureOf(growMapping(attachment, host));
    const { volumeId } = record;
    if (detail !== undefined)
      agent.log.warn('an encrypted device is used at its old size', { volumeId, detail });
    return { device: await describeMapping(volume, device), isNew: false };
  }
  await closeMapping(attachment, host);
  const passphrases = readPassphrases(secrets);
  await requireModule(host, 'dm_crypt');
  const isNew = isMarked || !(await isEncrypted(volume, connected));
  if (isNew) await encrypt(volume, device, passphrases);
  else if (!device.readonly) await rotate(device, passphrases, host);
  await unlock(volume, device, passphrases);
  return { device: await describeMapping(volume, device), isNew };
}

/** True for an encrypted device, false for one without visible content; FAILED_PRECONDITION for any other content. */
async function isEncrypted(
  { agent, record }: DeviceVolume,
  { device, probing }: ConnectedDevice,
): Promise<boolean> {
  const found = await (probing ?? probe(device, agent.host));
  if (found === undefined) return false;
  if (found.format === 'crypto_LUKS') return true;
  throw preconditionProblem(
    `device "${device.path}" holds ${found.format}, and volume "${record.volumeId}" must be encrypted; wipe the device, or use the volume without encryption`,
  );
}

async function encrypt(volume: DeviceVolume, device: Device, { current }: Passphrases): Promise<void> {
  requireFormattable(volume, device, { name: 'LUKS', minimumBytes: luksMinimumBytes });
  const args = ['luksFormat', ...quiet, ...layout, ...derivation, '--', device.path];
  await writeFormat(volume, { device, isNew: false }, { command: 'cryptsetup', args, input: current });
}

/** Adds the new passphrase and then removes the previous one. Safe to run again after a crash. */
async function rotate(device: Device, { current, previous }: Passphrases, host: Host): Promise<void> {
  if (previous === undefined) return;
  const test = ['open', '--test-passphrase', ...quiet, '--', device.path];
  if (!(await tryKey(test, current, host))) {
    const sizes = ['--keyfile-size', bytesOf(previous), '--new-keyfile-size', bytesOf(current)];
    const add = ['luksAddKey', ...quiet, ...sizes, ...derivation, '--', device.path, '-'];
    if (!(await tryKey(add, `${previous}${current}`, host))) throw wrongPassphraseProblem(device);
  }
  // An earlier call may have removed it already, so a wrong key is no error.
  await tryKey(['luksRemoveKey', ...quiet, '--', device.path], previous, host);
}

async function unlock(volume: DeviceVolume, device: Device, passphrases: Passphrases): Promise<void> {
  const { agent, record } = volume;
  const options = ['--allow-discards', '--disable-keyring', ...(device.readonly ? ['--readonly'] : [])];
  const args = ['open', ...quiet, ...options, '--', device.path, mappedNameOf(record.attachment)];
  // A read-only device cannot get the new passphrase, so it may still have the previous one.
  const { current, previous } = passphrases;
  const keys = device.readonly && previous !== undefined ? [current, previous] : [current];
  await requireStillConnected(volume, device);
  for (const key of keys)
    if (await tryKey(args, key, agent.host)) return requireStillConnected(volume, device);
  throw wrongPassphraseProblem(device);
}

/** Runs cryptsetup with a key on its standard input; returns false if the key does not fit the device. */
async function tryKey(args: readonly string[], key: string, host: Host): Promise<boolean> {
  const line = { command: 'cryptsetup', args, input: key };
  const result = await runToEnd(host, line);
  if (result.status === 0) return true;
  if (result.status === wrongKeyStatus) return false;
  throw unavailableProblem(describeFailure(line, result));
}

function wrongPassphraseProblem({ path }: Device): Problem {
  return new Problem(
    'UNAUTHENTICATED',
    `the passphrase does not unlock device "${path}"; give the one with which the volume was encrypted`,
  );
}

/** Describes the mapping as a device; UNAVAILABLE unless it decrypts the given device. */
async function describeMapping({ agent, record }: DeviceVolume, device: Device): Promise<Device> {
  const { host } = agent;
  const disk = await findDecrypted(record.attachment, device.number, host);
  if (!disk)
    throw unavailableProblem(
      `the encrypted device "${device.path}" of volume "${record.volumeId}" was closed during the call; try again`,
    );
  const { name, number, sizeBytes, readonly } = disk;
  const { identity, number: below } = device;
  const diskseq = await readDiskseq(number, host);
  return { path: `/dev/${name}`, number, sizeBytes, readonly, identity, below, diskseq };
}

function bytesOf(text: string): string {
  return String(Buffer.byteLength(text));
}
