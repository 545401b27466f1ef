import { crc32 } from 'node:zlib';
import { asProblem, preconditionProblem, Problem } from '../../../src/api/problem.ts';
import { runToEnd, runWell } from '../../host/commands.ts';
import type { Host } from '../../host.ts';
import { requireKnownSecrets, secretProblem, type SecretKeys, type Secrets } from '../../connector.ts';
import { filterAsync } from '../../host/sysfs.ts';

/** The secrets, named as in nvme-cli: the first authenticates the node, the second also the controller. */
const [hostKey, controllerKey] = ['dhchap-secret', 'dhchap-ctrl-secret'] as const;
const known: SecretKeys = { [hostKey]: [], [controllerKey]: [hostKey] };

/** The text of a key (NVMe TP 8006): its hash, and 32, 48 or 64 bytes with their CRC-32 in Base64. */
const keyPattern = /^DHHC-1:0[0-3]:([A-Za-z0-9+/]+={0,2}):$/;
const keyBytes: ReadonlySet<number> = new Set([32, 48, 64]);

/** The authentication options of a connection: pairs of the kernel's option name and its value. */
export type Keys = readonly (readonly [string, string])[];

/** Reads the secrets of a volume; INVALID_ARGUMENT names a secret that cannot be used. */
export function readKeys(secrets: Secrets): Keys {
  requireKnownSecrets(secrets, known);
  return [hostKey, controllerKey].flatMap(key => {
    const value = secrets[key];
    if (value === undefined) return [];
    // The kernel writes a key that it cannot read to its log.
    if (!isKey(value))
      throw secretProblem(key, 'is not a DH-HMAC-CHAP key; make one with "nvme gen-dhchap-key"');
    return [[key.replaceAll('-', '_'), value] as const];
  });
}

function isKey(text: string): boolean {
  const data = Buffer.from(keyPattern.exec(text)?.[1] ?? '', 'base64');
  const length = data.length - 4;
  return keyBytes.has(length) && data.readUInt32LE(length) === crc32(data.subarray(0, length));
}

/**
 * Connects like `nvme connect`, but through the kernel's own file, since nvme-cli takes keys only as arguments. Returns once
 * connected. FAILED_PRECONDITION if the kernel does not support authentication, since it would connect without the keys. A
 * kernel that refuses the other side's key may say so only after a minute, as if there were no answer.
 */
export async function connectWithKeys(options: Keys, timeoutMs: number, host: Host): Promise<void> {
  await requireAuthentication(host);
  const isNamed = options.some(([name]) => name === 'hostnqn');
  const all = isNamed ? options : [...options, ...(await readNames(host))];
  const input = all.map(([name, value]) => `${name}=${value}`).join(',');
  const args = ['of=/dev/nvme-fabrics', 'bs=4096', 'iflag=fullblock', 'conv=notrunc,nocreat', 'status=none'];
  await runWell(host, { command: 'dd', args, timeoutMs, input }).catch((error: unknown) => {
    const { code, detail } = asProblem(error);
    throw new Problem(
      code,
      `cannot connect with the keys of this attachment; if they are rejected or not answered, detach the volume and attach it again: ${detail}`,
      { cause: error },
    );
  });
}

async function requireAuthentication(host: Host): Promise<void> {
  const args = ['--quiet', '--word-regexp', '--', 'nvme_auth_negotiate', '/proc/kallsyms'];
  const { status } = await runToEnd(host, { command: 'grep', args });
  if (status !== 0)
    throw preconditionProblem(
      `the kernel of this node cannot authenticate NVMe connections (it is built without CONFIG_NVME_HOST_AUTH); remove secret "${hostKey}" or use another kernel`,
    );
}

/** Reads nvme-cli's names for this node, so that connections with and without keys use the same host. */
async function readNames(host: Host): Promise<Keys> {
  const { stdout } = await runWell(host, { command: 'nvme', args: ['show-hostnqn'] });
  const nqn = stdout.trim();
  if (!/^nqn\.[^\s,]{1,219}$/.test(nqn))
    throw preconditionProblem('"nvme show-hostnqn" prints no NQN for this node; create /etc/nvme/hostnqn');
  const { stdout: text } = await runToEnd(host, { command: 'cat', args: ['--', '/etc/nvme/hostid'] });
  const id = /^[0-9a-f-]{36}$/i.exec(text.trim())?.[0] ?? /:uuid:([0-9a-f-]{36})$/i.exec(nqn)?.[1];
  return [['hostnqn', nqn], ...(id === undefined ? [] : [['hostid', id] as const])];
}

/** Makes the keys of the controllers readable for root only; by default the kernel shows them to every user of the machine. */
export async function hideKeys(controllers: readonly { readonly name: string }[], host: Host): Promise<void> {
  const paths = controllers.flatMap(({ name }) =>
    [hostKey, controllerKey].map(key => `/sys/class/nvme/${name}/${key.replaceAll('-', '_')}`),
  );
  const shown = await filterAsync(paths, async path => (await host.kindOf(path)) !== 'nothing');
  if (shown.length > 0) await runWell(host, { command: 'chmod', args: ['--', '0600', ...shown] });
}
