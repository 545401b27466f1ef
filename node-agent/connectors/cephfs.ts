import { fileURLToPath } from 'node:url';
import { posix } from 'node:path';
import { canonicalAddress } from '../../src/api/attachments/addresses.ts';
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
import type { Host } from '../host.ts';

type CephfsAttachment = AttachmentOf<'cephfs'>;

const keyName = 'cephfs-key';
/** The pattern of a CephX key, in Base64. */
const keyPattern = /^[A-Za-z0-9+/]{16,128}={0,2}$/;
const wordPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const modes: ReadonlySet<string> = new Set(['legacy', 'crc', 'secure']);
const program = fileURLToPath(new URL('cephfs/with-key.ts', import.meta.url));

/** Connects directories of a CephFS. The kernel mounts them, so the node needs no Ceph packages. */
export const cephfs: ShareConnector<'cephfs'> = {
  kind: 'share',
  connect,
  // The kernel shows the monitors and the path of the mount command.
  judge: async (attachment, { type, source, superOptions }) =>
    type === 'ceph' &&
    canonicalSource(source) === canonicalSource(sourceOf(attachment)) &&
    superOptions.includes(`mds_namespace=${attachment.filesystem}`)
      ? 'own'
      : 'foreign',
};

async function connect(attachment: CephfsAttachment, host: Host, secrets: Secrets = {}): Promise<Share> {
  requireNames(attachment);
  requireKnownSecrets(secrets, { [keyName]: [] });
  const { [keyName]: key } = secrets;
  if (key === undefined) throw secretProblem(keyName, 'is missing; add it');
  if (!keyPattern.test(key))
    throw secretProblem(keyName, 'is not a CephX key; copy the one that "ceph auth get-key" prints');
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
      // `--internal-only` avoids the helper mount.ceph, which would look for a key itself.
      args: ['--disable-warning=ExperimentalWarning', program, name, 'mount', '--internal-only'],
      input: key,
    },
  };
}

function requireNames({ filesystem, user, mode, path }: CephfsAttachment): void {
  for (const [name, value] of Object.entries({ filesystem, user }))
    if (!wordPattern.test(value)) throw invalidProblem(`cephfs ${name} "${value}" is not a valid name`);
  if (!modes.has(mode)) throw invalidProblem(`cephfs mode "${mode}" is not one of ${[...modes].join(', ')}`);
  if (!/^(\/[^/\s,:]+)+$/.test(path) || posix.normalize(path) !== path)
    throw invalidProblem(`cephfs path "${path}" is not absolute and normalized`);
}

function sourceOf({ monitors, path }: CephfsAttachment): string {
  return `${monitors.join(',')}:${path}`;
}

function canonicalSource(source: string): string {
  const [, monitors = '', path = ''] = /^(.*?):(\/.*)$/s.exec(source) ?? [];
  return `${monitors.split(',').map(canonicalAddress).toSorted().join(',')}:${path}`;
}
