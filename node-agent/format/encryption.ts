import { isDeepStrictEqual } from 'node:util';
import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Device, Secrets } from '../connector.ts';
import type { Host } from '../host.ts';
import { describeFailure, requireModule, runToEnd } from '../host/commands.ts';
import { readDisk } from '../host/disk.ts';
import { readDiskseq, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import { markOf, probe, requireFormattable, writeFormat, type Opened } from './format.ts';
import { closeMapping, findMapping, growMapping, mappedNameOf } from './mapping.ts';
import { readPassphrases, type Passphrases } from './passphrases.ts';

/** A volume's device as it is connected. */
type Connected = Omit<Opened, 'isNew'>;

/** How a passphrase becomes a key: in 16 MiB of memory, whatever the machine has, and without measuring it. */
const derivation =
  '--pbkdf argon2id --pbkdf-memory 16384 --pbkdf-parallel 1 --pbkdf-force-iterations 4'.split(' ');
/** The same on every node, whatever the defaults of its cryptsetup are; every filesystem can be made on 512 bytes. */
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
/** Standard input holds the passphrase and nothing else; no question is asked. */
const quiet = ['--batch-mode', '--type', 'luks2', '--key-file', '-'];
/** The header takes the first half of a device of this size. */
const minimumBytes = 32 * 1024 * 1024;
/** How cryptsetup ends when no key is unlocked by what it is given. */
const wrongKey = 2;

/**
 * Opens an encrypted volume's device, which is encrypted first where it is proved blank. FAILED_PRECONDITION for a device with
 * anything else on it, UNAUTHENTICATED for a wrong passphrase, and then nothing is changed. What is open needs no secrets.
 */
export async function openEncrypted(
  volume: DeviceVolume,
  connected: Connected,
  secrets: Secrets,
): Promise<Opened> {
  const { agent, record } = volume;
  const { device } = connected;
  const { host } = agent;
  const { attachment } = record;
  // What was never mounted is made again, whatever of it an interrupted try left.
  const isMarked = isDeepStrictEqual(record.formatting, markOf(record, device));
  const known = await findMapping(attachment, host);
  if (known && !isMarked && known.below === device.number) {
    await growMapping(attachment, host);
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

/** False for a device on which nothing is seen; FAILED_PRECONDITION for one with anything else. */
async function isEncrypted(
  { agent, record }: DeviceVolume,
  { device, probing }: Connected,
): Promise<boolean> {
  const found = await (probing ?? probe(device, agent.host));
  if (found === undefined) return false;
  if (found.format === 'crypto_LUKS') return true;
  throw preconditionProblem(
    `device "${device.path}" holds ${found.format}, and volume "${record.volumeId}" is to be encrypted: it is not used as it is`,
  );
}

async function encrypt(volume: DeviceVolume, device: Device, { current }: Passphrases): Promise<void> {
  requireFormattable(volume, device, { name: 'LUKS', minimumBytes });
  const args = ['luksFormat', ...quiet, ...layout, ...derivation, '--', device.path];
  await writeFormat(volume, { device, isNew: false }, { command: 'cryptsetup', args, input: current });
}

/**
 * Gives the volume its new passphrase, and takes the previous one from it only then. Run again after a crash it goes on where it
 * stood.
 */
async function rotate(device: Device, { current, previous }: Passphrases, host: Host): Promise<void> {
  if (previous === undefined) return;
  const test = ['open', '--test-passphrase', ...quiet, '--', device.path];
  if (!(await tryKey(test, current, host))) {
    const sizes = ['--keyfile-size', bytesOf(previous), '--new-keyfile-size', bytesOf(current)];
    const add = ['luksAddKey', ...quiet, ...sizes, ...derivation, '--', device.path, '-'];
    if (!(await tryKey(add, `${previous}${current}`, host))) throw wrongPassphraseProblem(device);
  }
  // It may have been taken away before.
  await tryKey(['luksRemoveKey', ...quiet, '--', device.path], previous, host);
}

async function unlock(volume: DeviceVolume, device: Device, passphrases: Passphrases): Promise<void> {
  const { agent, record } = volume;
  const options = ['--allow-discards', '--disable-keyring', ...(device.readonly ? ['--readonly'] : [])];
  const args = ['open', ...quiet, ...options, '--', device.path, mappedNameOf(record.attachment)];
  // What cannot be written keeps the passphrase that it has.
  const { current, previous } = passphrases;
  const keys = device.readonly && previous !== undefined ? [current, previous] : [current];
  await requireStillConnected(volume, device);
  for (const key of keys)
    if (await tryKey(args, key, agent.host)) return requireStillConnected(volume, device);
  throw wrongPassphraseProblem(device);
}

/** Runs cryptsetup with a key on its standard input; false when that is no key of the device. */
async function tryKey(args: readonly string[], key: string, host: Host): Promise<boolean> {
  const line = { command: 'cryptsetup', args, input: key };
  const result = await runToEnd(host, line);
  if (result.status === 0) return true;
  if (result.status === wrongKey) return false;
  throw unavailableProblem(describeFailure(line, result));
}

function wrongPassphraseProblem({ path }: Device): Problem {
  return new Problem('UNAUTHENTICATED', `the passphrase does not unlock what is on device "${path}"`);
}

/** The mapping as a device; UNAVAILABLE unless it is that of the device. */
async function describeMapping({ agent, record }: DeviceVolume, device: Device): Promise<Device> {
  const { host } = agent;
  const mapping = await findMapping(record.attachment, host);
  const disk = mapping?.below === device.number ? await readDisk(mapping.name, host) : undefined;
  if (!mapping || !disk)
    throw unavailableProblem(`device "${device.path}" of volume "${record.volumeId}" is not open any more`);
  const { number, sizeBytes, readonly } = disk;
  const { identity, number: below } = device;
  const diskseq = await readDiskseq(number, host);
  return { path: `/dev/${mapping.name}`, number, sizeBytes, readonly, identity, below, diskseq };
}

function bytesOf(text: string): string {
  return String(Buffer.byteLength(text));
}
