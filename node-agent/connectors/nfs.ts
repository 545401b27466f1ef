import { isIPv6 } from 'node:net';
import { posix } from 'node:path';
import { canonicalHost } from '../../src/api/attachments/addresses.ts';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import { requireModule, runWell } from '../host/commands.ts';
import type { Share, ShareConnector } from '../connector.ts';
import type { Host } from '../host.ts';

type NfsAttachment = AttachmentOf<'nfs'>;

/** A host name or an address. */
const serverPattern =
  /^([A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40})$/;

/** Connects directories of an NFS 4 server. Requests wait for a lost server to return (`hard`), so no write is lost. */
export const nfs: ShareConnector<'nfs'> = {
  kind: 'share',
  maySquashRoot: true,
  connect,
  // The kernel shows the server's path of a mount, even for a bind mount of a part (nfs_show_devname).
  judge: async (attachment, { type, source }) =>
    (type === 'nfs4' || type === 'nfs') && canonicalSource(source) === canonicalSource(sourceOf(attachment))
      ? 'own'
      : 'foreign',
};

async function connect(attachment: NfsAttachment, host: Host): Promise<Share> {
  requirePath(attachment);
  await runWell(host, { command: 'mount.nfs', args: ['-V'] });
  await requireModule(host, 'nfs');
  return { source: sourceOf(attachment), type: 'nfs', options: ['vers=4.2', 'retry=0'] };
}

function requirePath({ server, path }: NfsAttachment): void {
  if (!serverPattern.test(server))
    throw invalidProblem(`nfs server "${server}" is neither a host name nor an address`);
  const isNormal = /^\/.*[^/]$/.test(path) && posix.normalize(path) === path;
  if (!isNormal || /[\0\n]/.test(path))
    throw invalidProblem(`nfs path "${path}" is not absolute and normalized`);
}

function sourceOf({ server, path }: NfsAttachment): string {
  return `${isIPv6(server) ? `[${server}]` : server}:${path}`;
}

/** Returns a source with its server's address in canonical form. */
function canonicalSource(source: string): string {
  return source.replace(/^\[[^\]]*\]/, canonicalHost);
}
