import { accessModes, accessTypes } from '../../../api/storage.ts';
import { bytes, choice, localPath, text } from '../../../lib/parsers.ts';
import { onOrOff, type SettingsOf } from '../../../lib/settings.ts';
import { toOutput } from '../../output/formats.ts';
import type { Grant } from '../../../api/volume.ts';
import type { Action, ActionResult } from '../../actions/action.ts';
import { type Copied, grantCopies, revokeCopies } from '../../actions/copies.ts';
import { grant, importVolume, type OwnedResult, revoke, transfer } from '../../actions/sharing.ts';
import { command, dryRun, shared } from './command.ts';
import { readPersistentVolume } from './persistent-volume.ts';
import { type ManifestNames, toManifests, toSnapshotManifests } from './manifests.ts';

const volume = { doc: "the volume's id", parse: text } as const;
const source = { doc: 'the id of the volume, the snapshot or the group', parse: text } as const;
const sourceKind = {
  doc: 'kind of the shared resource',
  parse: choice('volume', 'snapshot', 'group'),
  default: 'volume',
} as const;
const cluster = { doc: 'the other cluster', parse: text } as const;

/** The settings of commands that print manifests for Kubernetes. */
const kubernetes = {
  driver: { doc: 'name of the CSI driver in that cluster', parse: text, default: 'csi.fairlead.dev' },
  namespace: { doc: 'namespace of the claim', parse: text, default: 'default' },
  claim: { doc: "name of the claim; default: the volume's name", parse: text, optional: true },
} as const;

const importSettings = {
  ...shared,
  volume: { doc: 'id for the volume, CLUSTER.NAME, such as east.data', parse: text },
  pool: { doc: 'the pool whose storage has the volume', parse: text },
  'storage-id': {
    doc: "the volume's id in the storage; default: the same id",
    parse: text,
    optional: true,
  },
  manifest: {
    doc: 'file with the PersistentVolume of a volume that a CSI driver made, for a pool over that driver; it replaces --storage-id, --size and the access',
    parse: localPath,
    optional: true,
  },
  size: {
    doc: 'size of the volume; needed only if the storage does not report it',
    parse: bytes,
    optional: true,
  },
  'access-mode': {
    doc: 'access mode of the volume; default: SINGLE_NODE_WRITER',
    parse: choice(...accessModes),
    optional: true,
  },
  'access-type': {
    doc: 'access type of the volume; default: mount',
    parse: choice(...accessTypes),
    optional: true,
  },
  'dry-run': dryRun,
  ...kubernetes,
} as const;

/** The commands that share, transfer and import volumes, by name. */
export const sharingCommands = {
  grant: command({
    doc: 'shares a volume, or the copies of a volume or of snapshots, with another cluster, and prints its Kubernetes manifests there',
    settings: {
      ...shared,
      volume: source,
      cluster,
      kind: sourceKind,
      access: {
        doc: 'attachments in the other cluster; default for a volume without --copy: read-only',
        parse: choice('read-only', 'read-write'),
        optional: true,
      },
      copy: {
        doc: 'let the other cluster create volumes from it; needless for snapshots and groups',
        ...onOrOff,
      },
      'dry-run': dryRun,
      ...kubernetes,
    },
    operands: ['volume', 'cluster'],
    ask: (client, call, { volume: id, cluster: grantee, kind, access, copy, 'dry-run': isDry, ...names }) =>
      grantAll(client, call, { id, grantee, kind, access, copy, isDry, names }),
  }),
  revoke: command({
    doc: 'ends the sharing of a volume with another cluster, or of the copies of a volume or of snapshots',
    settings: {
      ...shared,
      volume: source,
      cluster,
      kind: sourceKind,
      copy: { doc: 'only end the right to copy the volume', ...onOrOff },
      force: {
        doc: 'first detach the volume from the nodes of that cluster',
        ...onOrOff,
      },
      'dry-run': dryRun,
    },
    operands: ['volume', 'cluster'],
    async ask(client, call, { volume: id, cluster: grantee, kind, copy, force, 'dry-run': isDry }) {
      const copied = { kind, id, grantee, isDry };
      if (kind !== 'volume' || copy) return revokeCopies(client, call, copied);
      const result = await revoke(client, call, { volumeId: id, grantee, force, isDry });
      await revokeCopies(client, call, copied);
      return result;
    },
  }),
  transfer: command({
    doc: 'detaches a volume from every node, transfers it to another cluster, and prints its Kubernetes manifests there',
    settings: {
      ...shared,
      volume,
      to: cluster,
      name: {
        doc: 'name of the volume in its new id, CLUSTER.NAME; default: the present name',
        parse: text,
        optional: true,
      },
      'dry-run': dryRun,
      ...kubernetes,
    },
    operands: ['volume'],
    ask: (client, call, { volume: volumeId, to, name, 'dry-run': isDry, ...names }) =>
      printManifests(transfer(client, call, { volumeId, to, name, isDry }), { isDry, names }),
  }),
  import: command({
    doc: "imports a volume of a pool's storage that belongs to no cluster, and prints its Kubernetes manifests",
    settings: importSettings,
    operands: ['volume'],
    async ask(client, call, { volume: volumeId, pool, 'dry-run': isDry, ...rest }) {
      const { isReadOnly, ...found } = toImported(rest);
      const values = { volumeId, pool, isDry, ...found };
      return printManifests(importVolume(client, call, values), { isDry, isReadOnly, names: rest });
    },
  }),
};

const replaced = ['storage-id', 'size', 'access-mode', 'access-type'] as const;

type ImportedObject = Pick<SettingsOf<typeof importSettings>, 'manifest' | (typeof replaced)[number]>;

/** Describes the volume to import: by its manifest, or by the settings that a manifest replaces. */
function toImported(given: ImportedObject) {
  const { manifest, 'storage-id': storageId, size: sizeBytes } = given;
  const { 'access-mode': accessMode = 'SINGLE_NODE_WRITER', 'access-type': accessType = 'mount' } = given;
  if (manifest === undefined)
    return { storageId, sizeBytes, capabilities: [{ accessType, accessMode }], isReadOnly: false };
  const needless = replaced.filter(name => given[name] !== undefined).map(name => `--${name}`);
  if (needless.length > 0)
    throw new Error(`the file of --manifest replaces ${needless.join(', ')}; leave out one or the other`);
  return readPersistentVolume(manifest);
}

type PrintOptions = {
  readonly isDry: boolean;
  readonly isReadOnly?: boolean;
  readonly names: ManifestNames;
};

/** Prints the manifests of the volume in its cluster in place of the sentence, which is all that a dry run prints. */
async function printManifests(
  action: Promise<OwnedResult>,
  { isDry, isReadOnly, names }: PrintOptions,
): Promise<ActionResult> {
  const result = await action;
  if (isDry) return result;
  const manifests = toManifests({ ...result.data, ...(isReadOnly && { isReadOnly }) }, names);
  return { ...result, data: { ...result.data, manifests }, table: await toYaml(manifests) };
}

type GrantValues = Copied & {
  readonly access: Grant['access'] | undefined;
  readonly copy: boolean;
  readonly names: ManifestNames;
};

/** Grants attachments, copies or both, and prints the manifests behind the sentences, which are comments there. */
async function grantAll(
  ...[client, call, { names, access: given, copy, ...copied }]: Parameters<Action<GrantValues>>
): Promise<ActionResult> {
  const { kind, id, isDry } = copied;
  if (kind !== 'volume' && given) throw new Error(`a ${kind} cannot be attached; leave out --access`);
  const access = given ?? (kind === 'volume' && !copy ? 'read-only' : undefined);
  const attaching = access && (await grant(client, call, { ...copied, volumeId: id, access }));
  const copying = (copy || !access) && (await grantCopies(client, call, copied));
  const done = [attaching, copying].filter(one => typeof one === 'object');
  const data: object = Object.assign({}, ...done.map(one => one.data));
  const sentences = done.map(({ table }) => table);
  if (isDry) return { data, table: sentences.join('\n') };
  const [granted] = kind === 'volume' ? (await client.listAllVolumes({ id }, call)).volumes : [];
  const manifests = granted
    ? toManifests({ ...granted, volume: granted, isReadOnly: access === 'read-only' }, names)
    : ((copying || undefined)?.data.sources ?? []).flatMap(one => toSnapshotManifests(one, names));
  const comments = sentences.map(one => `# ${one}\n`).join('');
  return { data: { ...data, manifests }, table: comments + (await toYaml(manifests)) };
}

async function toYaml(manifests: readonly object[]): Promise<string> {
  const documents = await Promise.all(manifests.map(one => toOutput(one, 'yaml')));
  return documents.join('---\n').trimEnd();
}
