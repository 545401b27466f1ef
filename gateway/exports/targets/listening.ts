import { SocketAddress } from 'node:net';
import { listProcesses, readText, socketsOf } from './proc.ts';

/** A socket that takes connections, where, and its number. */
export type Listening = { readonly host: string; readonly port: number; readonly socket: string };

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

/** True where a process that this one sees takes connections. Nothing is bound to find out; what the kernel itself listens with is no process's. */
export function hasListener(host: string, port: number): boolean {
  const wanted = canonical(host);
  const sockets = new Set(
    listListening()
      .filter(one => one.port === port && (one.host === wanted || [one.host, wanted].some(isAny)))
      .map(({ socket }) => socket),
  );
  return sockets.size > 0 && listProcesses().some(pid => socketsOf(pid).some(one => sockets.has(one)));
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
