import { crc32 } from 'node:zlib';
import { preconditionProblem } from '../../../src/api/problem.ts';
import { runToEnd, runWell } from '../../host/commands.ts';
import type { Host } from '../../host.ts';
import { requireKnownSecrets, secretProblem, type SecretKeys, type Secrets } from '../../connector.ts';
import { filterAsync } from '../../host/sysfs.ts';

/** nvme-cli's names: with the first the node proves itself, with the second the controller does, too. */
const [hostKey, controllerKey] = ['dhchap-secret', 'dhchap-ctrl-secret'] as const;
const known: SecretKeys = { [hostKey]: [], [controllerKey]: [hostKey] };

/** A key as text (NVMe TP 8006): which hash it is for, and 32, 48 or 64 bytes with their CRC-32 in Base64. */
const keyPattern = /^DHHC-1:0[0-3]:([A-Za-z0-9+/]+={0,2}):$/;
const keyBytes: ReadonlySet<number> = new Set([32, 48, 64]);

/** Options of a connection by which it authenticates itself: the kernel's names, and their values. */
export type Keys = readonly (readonly [string, string])[];

/** Reads the secrets of a volume; INVALID_ARGUMENT names the key of one that cannot be used. */
export function readKeys(secrets: Secrets): Keys {
  requireKnownSecrets(secrets, known);
  return [hostKey, controllerKey].flatMap(key => {
    const value = secrets[key];
    if (value === undefined) return [];
    // The kernel would write one that it cannot read to its log.
    if (!isKey(value)) throw secretProblem(key, 'is no DH-HMAC-CHAP key, such as nvme gen-dhchap-key makes');
    return [[key.replaceAll('-', '_'), value] as const];
  });
}

function isKey(text: string): boolean {
  const data = Buffer.from(keyPattern.exec(text)?.[1] ?? '', 'base64');
  const length = data.length - 4;
  return keyBytes.has(length) && data.readUInt32LE(length) === crc32(data.subarray(0, length));
}

/**
 * Connects as `nvme connect` does, by the kernel's own file: nvme-cli takes keys as arguments only. Returns when the
 * connection stands. FAILED_PRECONDITION where the kernel cannot authenticate: it would connect without the keys.
 */
export async function connectWithKeys(options: Keys, timeoutMs: number, host: Host): Promise<void> {
  await requireAuthentication(host);
  const isNamed = options.some(([name]) => name === 'hostnqn');
  const all = isNamed ? options : [...options, ...(await readNames(host))];
  const input = all.map(([name, value]) => `${name}=${value}`).join(',');
  const args = ['of=/dev/nvme-fabrics', 'bs=4096', 'iflag=fullblock', 'conv=notrunc,nocreat', 'status=none'];
  await runWell(host, { command: 'dd', args, timeoutMs, input });
}

async function requireAuthentication(host: Host): Promise<void> {
  const args = ['--quiet', '--word-regexp', '--', 'nvme_auth_negotiate', '/proc/kallsyms'];
  const { status } = await runToEnd(host, { command: 'grep', args });
  if (status !== 0)
    throw preconditionProblem(
      `the kernel of this node cannot authenticate NVMe connections (it is built without CONFIG_NVME_HOST_AUTH), so that secret "${hostKey}" cannot be used`,
    );
}

/** What nvme-cli calls this node, so that both connect as the same host. */
async function readNames(host: Host): Promise<Keys> {
  const { stdout } = await runWell(host, { command: 'nvme', args: ['show-hostnqn'] });
  const nqn = stdout.trim();
  if (!/^nqn\.[^\s,]{1,219}$/.test(nqn))
    throw preconditionProblem('"nvme show-hostnqn" prints no NQN of this node');
  const { stdout: text } = await runToEnd(host, { command: 'cat', args: ['--', '/etc/nvme/hostid'] });
  const id = /^[0-9a-f-]{36}$/i.exec(text.trim())?.[0] ?? /:uuid:([0-9a-f-]{36})$/i.exec(nqn)?.[1];
  return [['hostnqn', nqn], ...(id === undefined ? [] : [['hostid', id] as const])];
}

/** The kernel shows the keys of its controllers to every user of the machine; from here on to root alone. */
export async function hideKeys(controllers: readonly { readonly name: string }[], host: Host): Promise<void> {
  const paths = controllers.flatMap(({ name }) =>
    [hostKey, controllerKey].map(key => `/sys/class/nvme/${name}/${key.replaceAll('-', '_')}`),
  );
  const shown = await filterAsync(paths, async path => (await host.kindOf(path)) !== 'nothing');
  if (shown.length > 0) await runWell(host, { command: 'chmod', args: ['--', '0600', ...shown] });
}
