import { SocketAddress } from 'node:net';
import { readText } from './proc.ts';

/** A socket that takes connections, where, and its number. */
type Listening = { readonly host: string; readonly port: number; readonly socket: string };

/** All of this network namespace (proc(5): state 0A), the kernel's own included. */
export function listListening(): readonly Listening[] {
  const tables = ['tcp', 'tcp6'].map(name => readText(`/proc/net/${name}`)).join('');
  const pattern = /: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A (?:\S+ +){5}(\d+)/g;
  return Array.from(tables.matchAll(pattern), ([, host = '', port = '', socket = '']) => ({
    host: decode(host),
    port: Number.parseInt(port, 16),
    socket,
  }));
}

/** True where somebody takes connections, a program or the kernel. Nothing is bound to find out. */
export function isListenedAt(host: string, port: number): boolean {
  const wanted = canonical(host);
  return listListening().some(
    one => one.port === port && (one.host === wanted || [one.host, wanted].some(isAny)),
  );
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Each 32 bits are told in the order of the processor, which is little-endian wherever Node.js runs but on s390x. */
function decode(hex: string): string {
  const bytes = Array.from(hex.matchAll(/(..)(..)(..)(..)/g), ([, a, b, c, d]) => [d, c, b, a]).flat();
  if (bytes.length === 4) return bytes.map(byte => Number.parseInt(byte ?? '', 16)).join('.');
  return canonical(Array.from(bytes.join('').matchAll(/.{4}/g), ([group]) => group).join(':'));
}

function canonical(host: string): string {
  return host.includes(':') ? new SocketAddress({ address: host, family: 'ipv6' }).address : host;
}
