import { fileURLToPath } from 'node:url';
import { posix } from 'node:path';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import { requireModule } from '../host/commands.ts';
import {
  requireKnownSecrets,
  secretProblem,
  type Secrets,
  type Share,
  type ShareConnector,
} from '../connector.ts';
import { plainFlags } from '../filesystem.ts';
import type { Host } from '../host.ts';

type CephfsAttachment = AttachmentOf<'cephfs'>;

const keyName = 'cephfs-key';
/** CephX writes a key in Base64. */
const keyPattern = /^[A-Za-z0-9+/]{16,128}={0,2}$/;
const wordPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const modes: ReadonlySet<string> = new Set(['legacy', 'crc', 'secure']);
const program = fileURLToPath(new URL('cephfs/with-key.ts', import.meta.url));
const number = /^\d{1,12}$/;

/** A directory of a CephFS, mounted by the kernel: nothing of Ceph is installed on the node. */
export const cephfs: ShareConnector<'cephfs'> = {
  kind: 'share',
  allowedFlags: {
    ...plainFlags('dirstat', 'nodirstat', 'rbytes', 'norbytes', 'wsync', 'nowsync'),
    rsize: number,
    wsize: number,
    rasize: number,
    readdir_max_entries: number,
    caps_wanted_delay_min: number,
    caps_wanted_delay_max: number,
  },
  connect,
  // The kernel shows the monitors and the path that were asked for.
  judge: async (attachment, { type, source, superOptions }) =>
    type === 'ceph' &&
    source === sourceOf(attachment) &&
    superOptions.includes(`mds_namespace=${attachment.filesystem}`)
      ? 'own'
      : 'foreign',
};

async function connect(attachment: CephfsAttachment, host: Host, secrets: Secrets = {}): Promise<Share> {
  requireNames(attachment);
  requireKnownSecrets(secrets, { [keyName]: [] });
  const { [keyName]: key } = secrets;
  if (key === undefined) throw secretProblem(keyName, 'is missing');
  if (!keyPattern.test(key)) throw secretProblem(keyName, 'is no key of CephX');
  await requireModule(host, 'ceph');
  const { filesystem, mode, user } = attachment;
  const name = `client.${user}`;
  return {
    source: sourceOf(attachment),
    type: 'ceph',
    options: [
      `name=${user}`,
      `key=${name}`,
      `mds_namespace=${filesystem}`,
      ...(mode === 'legacy' ? [] : [`ms_mode=${mode}`]),
    ],
    through: {
      command: process.execPath,
      // Without a helper for mounts, which would look for a key by itself.
      args: ['--disable-warning=ExperimentalWarning', program, name, 'mount', '--internal-only'],
      input: key,
    },
  };
}

function requireNames({ filesystem, user, mode, path }: CephfsAttachment): void {
  for (const [name, value] of Object.entries({ filesystem, user }))
    if (!wordPattern.test(value)) throw invalidProblem(`cephfs ${name} "${value}" is no name`);
  if (!modes.has(mode)) throw invalidProblem(`cephfs mode "${mode}" is none of ${[...modes].join(', ')}`);
  if (!/^(\/[^/\s,:]+)+$/.test(path) || posix.normalize(path) !== path)
    throw invalidProblem(`cephfs path "${path}" is not absolute and normalized`);
}

function sourceOf({ monitors, path }: CephfsAttachment): string {
  return `${monitors.join(',')}:${path}`;
}
