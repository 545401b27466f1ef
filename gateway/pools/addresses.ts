import { spellHost } from '../../src/api/attachments/addresses.ts';

/** The host of an attachment or a setting in one canonical spelling, with its port if it has one. */
type Address = { readonly host: string; readonly port?: number };

/**
 * Returns true for a host or a network, with or without a port: `192.0.2.10`, `192.0.2.0/24`,
 * `[2001:db8::1]:4420`, `nas.example`.
 */
export function isAddressPattern(text: string): boolean {
  const { base, bits } = splitNetwork(text);
  const address = readAddress(base);
  if (!address) return false;
  const size = bitsOf(address.host)?.size ?? 0;
  return bits === undefined || (address.port === undefined && bits <= size);
}

/** Returns true for a host, with or without a port. */
export function isAddress(text: string): boolean {
  return readAddress(text) !== undefined;
}

/** Returns true for the name of a host, which may be any machine's address. */
export function isHostName(text: string): boolean {
  const address = readAddress(text);
  return address !== undefined && !bitsOf(address.host);
}

/** Networks whose addresses mean another machine, or another link, on each machine. */
const localNetworks = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '[::]', '[::1]', 'fe80::/10'];

/** Returns true for loopback, unspecified and link-local addresses and for `localhost`, with or without a port. */
export function isLocalAddress(text: string): boolean {
  const { host = '' } = readAddress(text) ?? {};
  return /(?:^|\.)localhost$/.test(host) || isAmong(text, localNetworks);
}

/** Returns true when a pattern contains the address. A pattern without a port contains all ports of its host. */
export function isAmong(text: string, patterns: readonly string[]): boolean {
  const address = readAddress(text);
  return address !== undefined && patterns.some(pattern => holds(pattern, address));
}

function holds(pattern: string, { host, port }: Address): boolean {
  const { base, bits } = splitNetwork(pattern);
  const wanted = readAddress(base);
  if (!wanted || (wanted.port !== undefined && wanted.port !== port)) return false;
  if (bits === undefined) return wanted.host === host;
  const [network, found] = [bitsOf(wanted.host), bitsOf(host)];
  if (!network || network.size !== found?.size) return false;
  const ignored = BigInt(network.size - bits);
  return network.value >> ignored === found.value >> ignored;
}

function splitNetwork(text: string): { readonly base: string; readonly bits?: number } {
  const [, base, bits] = /^(.*)\/(\d{1,3})$/.exec(text) ?? [];
  return base === undefined ? { base: text } : { base, bits: Number(bits) };
}

/** Returns undefined for text that is not a host, and for a host with a colon and no port. */
function readAddress(text: string): Address | undefined {
  const [, bracketed, named, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = spellHost(bracketed ?? named ?? text.replace(/^\[(.*)\]$/, '$1'));
  if (host === undefined || Number(port) > 65_535) return undefined;
  return { host, ...(port !== undefined && { port: Number(port) }) };
}

/** Returns undefined for a name. */
function bitsOf(host: string): { readonly value: bigint; readonly size: 32 | 128 } | undefined {
  if (/^\d+(\.\d+){3}$/.test(host)) return { value: join(host.split('.').map(Number), 8), size: 32 };
  if (!host.startsWith('[')) return undefined;
  const [head = [], tail] = host.slice(1, -1).split('::').map(toWords);
  const zeros = tail ? Array<number>(8 - head.length - tail.length).fill(0) : [];
  return { value: join([...head, ...zeros, ...(tail ?? [])], 16), size: 128 };
}

function toWords(text: string): number[] {
  return text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16));
}

function join(parts: readonly number[], bits: number): bigint {
  return parts.reduce((value, part) => (value << BigInt(bits)) | BigInt(part), 0n);
}
