import { isIPv6 } from 'node:net';
import { posix } from 'node:path';
import { fieldKinds, type AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import { requireModule, runWell } from '../host/commands.ts';
import type { Share, ShareConnector } from '../connector.ts';
import { plainFlags } from '../filesystem.ts';
import type { Host } from '../host.ts';

type NfsAttachment = AttachmentOf<'nfs'>;

const number = /^\d{1,9}$/;

/** A directory of an NFS 4 server. Requests to a server that is lost wait for it (`hard`), so that no write is lost. */
export const nfs: ShareConnector<'nfs'> = {
  kind: 'share',
  allowedFlags: {
    ...plainFlags('hard', 'soft', 'softerr', 'resvport', 'noresvport', 'ac', 'noac', 'cto', 'nocto'),
    vers: /^4\.[012]$/,
    timeo: number,
    retrans: number,
    rsize: number,
    wsize: number,
    nconnect: /^\d{1,2}$/,
    proto: /^(tcp|tcp6|rdma)$/,
    port: /^\d{1,5}$/,
    sec: /^(sys|krb5|krb5i|krb5p)$/,
    actimeo: number,
    acregmin: number,
    acregmax: number,
    acdirmin: number,
    acdirmax: number,
    lookupcache: /^(all|none|pos|positive)$/,
  },
  connect,
  // The kernel shows the server's own path of what is mounted, for a bound part of it too (nfs_show_devname).
  judge: async (attachment, { type, source }) =>
    (type === 'nfs4' || type === 'nfs') && source === sourceOf(attachment) ? 'own' : 'foreign',
};

async function connect(attachment: NfsAttachment, host: Host): Promise<Share> {
  requirePath(attachment);
  await runWell(host, { command: 'mount.nfs', args: ['-V'] });
  await requireModule(host, 'nfs');
  return { source: sourceOf(attachment), type: 'nfs', options: ['vers=4.2', 'retry=0'] };
}

function requirePath({ server, path }: NfsAttachment): void {
  if (!fieldKinds.host.pattern.test(server))
    throw invalidProblem(`nfs server "${server}" is neither a host name nor an address`);
  const isNormal = /^\/.*[^/]$/.test(path) && posix.normalize(path) === path;
  if (!isNormal || /[\0\n]/.test(path))
    throw invalidProblem(`nfs path "${path}" is not absolute and normalized`);
}

function sourceOf({ server, path }: NfsAttachment): string {
  return `${isIPv6(server) ? `[${server}]` : server}:${path}`;
}
