import { fileURLToPath } from 'node:url';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { invalidProblem } from '../../../src/api/problem.ts';
import { runWell } from '../../host/commands.ts';
import type { Host } from '../../host.ts';
import { readLine } from '../../host/sysfs.ts';

const link = fileURLToPath(new URL('link.ts', import.meta.url));
const linkTimeoutMs = 30_000;
/** The kernel prints the identity into one page of 4096 bytes, and does not look at its length. */
const maxIdentityBytes = 1024;

/** What the kernel is given as the name of a connection, and shows of its device. */
export function identityOf({ server, port, export: name }: AttachmentOf<'nbd'>): string {
  const host = server.includes(':') ? `[${server}]` : server;
  return `nbd://${host}:${port}/${encodeURIComponent(name.toWellFormed())}`;
}

/** The devices that the kernel has connected with a name of their export, by that name. */
export async function readDevices(host: Host): Promise<ReadonlyMap<string | undefined, readonly string[]>> {
  const names = (await host.list('/sys/block')).filter(name => /^nbd\d+$/.test(name));
  const reads = names.map(async name => ({ name, backend: await readBackend(`/sys/block/${name}`, host) }));
  const devices = Map.groupBy(await Promise.all(reads), ({ backend }) => backend);
  return new Map(devices.entries().map(([backend, all]) => [backend, all.map(({ name }) => name)]));
}

/** The name of the export that a device in sysfs is connected to; undefined when it has none. */
export function readBackend(path: string, host: Host): Promise<string | undefined> {
  return readLine(`${path}/backend`, host);
}

/** An export, and the device's name where it is not any that is free. */
type Ends = { readonly attachment: AttachmentOf<'nbd'>; readonly host: Host; readonly name?: string };

/** Asks for the size of an export in bytes, or connects it, for the first time or anew, and returns the device's index. */
export async function runLink(
  operation: 'size' | 'connect' | 'reconnect',
  { attachment, host, name }: Ends,
): Promise<string> {
  requireName(attachment);
  const { server, port, export: exported, readonly } = attachment;
  const args = [server, String(port), exported, identityOf(attachment), readonly ? 'ro' : 'rw'];
  const index = name === undefined ? [] : [indexOf(name)];
  return run([operation, ...args, ...index], host);
}

/** Has the kernel end a device's connection. */
export async function endLink(name: string, host: Host): Promise<void> {
  await run(['disconnect', indexOf(name)], host);
}

async function run(args: readonly string[], host: Host): Promise<string> {
  const command = process.execPath;
  const all = ['--disable-warning=ExperimentalWarning', link, ...args];
  const { stdout } = await runWell(host, { command, args: all, timeoutMs: linkTimeoutMs });
  return stdout.trim();
}

function indexOf(name: string): string {
  return name.slice('nbd'.length);
}

function requireName(attachment: AttachmentOf<'nbd'>): void {
  const { export: name } = attachment;
  if (name.includes('\0') || !name.isWellFormed())
    throw invalidProblem(`nbd export ${JSON.stringify(name.slice(0, 80))} is no name`);
  const length = Buffer.byteLength(identityOf(attachment));
  if (length > maxIdentityBytes)
    throw invalidProblem(
      `nbd export "${name.slice(0, 40)}…" is a URI of ${length} bytes, more than the ${maxIdentityBytes} that it may have`,
    );
}
