import { existsSync, readFileSync } from 'node:fs';
import { SocketAddress } from 'node:net';

type ListeningSocket = { readonly host: string; readonly port: number };

/** Lists all listening sockets of this network namespace (proc(5): state 0A), including the kernel's own. */
function listListening(): readonly ListeningSocket[] {
  // A kernel without IPv6 has no tcp6.
  const paths = ['/proc/net/tcp', '/proc/net/tcp6'].filter(path => existsSync(path));
  const tables = paths.map(path => readFileSync(path, 'utf8')).join('');
  return Array.from(tables.matchAll(/: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A /g), ([, host = '', port = '']) => ({
    host: decode(host),
    port: Number.parseInt(port, 16),
  }));
}

/** True when a program or the kernel listens at the address. Binds no socket to find out. */
export function isListenedAt(host: string, port: number): boolean {
  const address = canonical(host);
  return listListening().some(
    one => one.port === port && (one.host === address || [one.host, address].some(isAny)),
  );
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Decodes an address. Each 32 bits are in the processor's byte order, which is little-endian on all of Node's
 * platforms but s390x.
 */
function decode(hex: string): string {
  const bytes = Array.from(hex.matchAll(/(..)(..)(..)(..)/g), ([, a, b, c, d]) => [d, c, b, a]).flat();
  if (bytes.length === 4) return bytes.map(byte => Number.parseInt(byte ?? '', 16)).join('.');
  return canonical(Array.from(bytes.join('').matchAll(/.{4}/g), ([group]) => group).join(':'));
}

function canonical(host: string): string {
  return host.includes(':') ? new SocketAddress({ address: host, family: 'ipv6' }).address : host;
}
