import { fileURLToPath } from 'node:url';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { Problem } from '../../../src/api/problem.ts';
import { runWell } from '../../host/commands.ts';
import type { CommandLine } from '../../filesystem.ts';
import type { Host } from '../../host.ts';
import { readLine } from '../../host/sysfs.ts';

const link = fileURLToPath(new URL('link.ts', import.meta.url));
const linkTimeoutMs = 30_000;
/** The kernel prints what it was told into one page of 4096 bytes, and does not look at its length. */
const maxIdentityBytes = 1024;

/** What the kernel is told of a connection, and shows of its device. */
export function identityOf({ server, port, export: name }: AttachmentOf<'nbd'>): string {
  const host = server.includes(':') ? `[${server}]` : server;
  return `nbd://${host}:${port}/${encodeURIComponent(name.toWellFormed())}`;
}

/** The devices that the kernel has connected with a name of their export, by that name. */
export async function readDevices(host: Host): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = (await host.list('/sys/block')).filter(name => /^nbd\d+$/.test(name));
  const backends = await Promise.all(names.map(name => readBackend(`/sys/block/${name}`, host)));
  const found = new Map<string, string[]>();
  for (const [index, name] of names.entries()) {
    const backend = backends[index];
    if (backend !== undefined) found.set(backend, [...(found.get(backend) ?? []), name]);
  }
  return found;
}

/** The name of the export that the device at a place in sysfs is connected to; undefined when it has none. */
export function readBackend(place: string, host: Host): Promise<string | undefined> {
  return readLine(`${place}/backend`, host);
}

/** The kernel's index of a device. */
export function indexOf(name: string): string {
  return name.slice('nbd'.length);
}

/** What is done with an export: its size is asked for, or it is connected, or connected anew under its device. */
export type Operation = 'size' | 'connect' | 'reconnect';

/** Speaks with the server, and with the kernel; returns the size in bytes, or the device's index. */
export async function runLink(
  operation: Operation,
  attachment: AttachmentOf<'nbd'>,
  ...[host, index]: [host: Host, index?: string]
): Promise<string> {
  requireName(attachment);
  const { server, port, export: name, readonly } = attachment;
  const mode = readonly ? 'ro' : 'rw';
  const place = index === undefined ? [] : [index];
  const args = [operation, server, String(port), name, identityOf(attachment), mode, ...place];
  return (await runWell(host, linkLine(args))).stdout.trim();
}

/** Has the kernel end a device's connection. */
export async function endLink(index: string, host: Host): Promise<void> {
  await runWell(host, linkLine(['disconnect', index]));
}

function linkLine(args: readonly string[]): CommandLine {
  const options = ['--disable-warning=ExperimentalWarning', link];
  return { command: process.execPath, args: [...options, ...args], timeoutMs: linkTimeoutMs };
}

function requireName(attachment: AttachmentOf<'nbd'>): void {
  const { export: name } = attachment;
  if (name.includes('\0') || !name.isWellFormed())
    throw new Problem('INVALID_ARGUMENT', `nbd export ${JSON.stringify(name.slice(0, 80))} is no name`);
  const length = Buffer.byteLength(identityOf(attachment));
  if (length > maxIdentityBytes)
    throw new Problem(
      'INVALID_ARGUMENT',
      `nbd export "${name.slice(0, 40)}…" is a URI of ${length} bytes, more than the ${maxIdentityBytes} that it may have`,
    );
}
