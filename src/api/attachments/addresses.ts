/**
 * Returns a host in the canonical form of URLs, which is the same for all spellings of an address: lower case, shortened IPv6 in
 * brackets, and IPv4 for IPv4-mapped IPv6. Undefined for text that is not a host.
 */
export function spellHost(text: string): string | undefined {
  if (!/^[\w.:-]{1,253}$/.test(text)) return undefined;
  const url = `http://${text.includes(':') ? `[${text}]` : text}/`;
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname.replace(/\.$/, '');
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const words = [high, low].map(word => Number.parseInt(word, 16));
  return words.flatMap(word => [word >> 8, word & 255]).join('.');
}

/** Returns an address, with or without brackets, in canonical form; returns a host name unchanged. */
export function canonicalHost(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return bare.includes(':') ? (spellHost(bare) ?? host) : host;
}

/** Returns an address with a port in canonical form, so that equal texts mean equal addresses. */
export function canonicalAddress(address: string): string {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(address) ?? [];
  return host === undefined ? canonicalHost(address) : `${canonicalHost(host)}:${Number(port)}`;
}
