import type { Connection } from './connections.ts';
import { toBytes } from './libc.ts';
import { askDiagnosis, isRefusal } from './netlink.ts';

const destroy = 21;
const families = { inet: 2, inet6: 10 };
const tcp = 6;
/** ENOENT: there is no such connection. */
const gone = [2];
const anyCookie = Buffer.alloc(8, 0xff);

/** Has the kernel end a TCP connection at once, whoever has it (sock_diag(7)); one that is not there is fine. */
export function sever({ local, peer }: Connection): void {
  const isIpv6 = local.address.includes(':');
  const head = Buffer.from([isIpv6 ? families.inet6 : families.inet, tcp, 0, 0, 0, 0, 0, 0]);
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(local.port, 0);
  ports.writeUInt16BE(peer.port, 2);
  const addresses = [local, peer].map(({ address }) => toBytes(address));
  try {
    askDiagnosis(destroy, Buffer.concat([head, ports, ...addresses, Buffer.alloc(4), anyCookie]));
  } catch (error) {
    if (!isRefusal(error, gone)) throw error;
  }
}
