import { accessModes, accessTypes } from '../../../api/storage.ts';
import { bytes, choice, text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { toOutput } from '../../output/formats.ts';
import type { ActionResult } from '../../actions/action.ts';
import { grant, importVolume, type OwnedResult, revoke, transfer } from '../../actions/sharing.ts';
import { command, dryRun, shared } from './command.ts';
import { type ManifestNames, toManifests } from './manifests.ts';

const volume = { doc: "the volume's id", parse: text } as const;
const cluster = { doc: 'the other cluster', parse: text } as const;

/** The settings of commands that print manifests for Kubernetes. */
const kubernetes = {
  driver: { doc: 'name of the CSI driver in that cluster', parse: text, default: 'csi.fairlead.dev' },
  namespace: { doc: 'namespace of the claim', parse: text, default: 'default' },
  claim: { doc: "name of the claim; default: the volume's name", parse: text, optional: true },
} as const;

/** The commands that share, transfer and import volumes, by name. */
export const sharingCommands = {
  grant: command({
    doc: 'shares a volume with another cluster',
    settings: {
      ...shared,
      volume,
      cluster,
      access: {
        doc: 'access of the other cluster',
        parse: choice('read-only', 'read-write'),
        default: 'read-only',
      },
      'dry-run': dryRun,
    },
    operands: ['volume', 'cluster'],
    ask: (client, call, { volume: volumeId, cluster: grantee, access, 'dry-run': isDry }) =>
      grant(client, call, { volumeId, grantee, access, isDry }),
  }),
  revoke: command({
    doc: 'ends the sharing of a volume with another cluster',
    settings: {
      ...shared,
      volume,
      cluster,
      force: {
        doc: 'first detach the volume from the nodes of that cluster',
        ...onOrOff,
      },
      'dry-run': dryRun,
    },
    operands: ['volume', 'cluster'],
    ask: (client, call, { volume: volumeId, cluster: grantee, force, 'dry-run': isDry }) =>
      revoke(client, call, { volumeId, grantee, force, isDry }),
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
    settings: {
      ...shared,
      volume: { doc: 'id for the volume, CLUSTER.NAME, such as east.data', parse: text },
      pool: { doc: 'the pool whose storage has the volume', parse: text },
      'storage-id': {
        doc: "the volume's id in the storage; default: the same id",
        parse: text,
        optional: true,
      },
      size: {
        doc: 'size of the volume; needed only if the storage does not report it',
        parse: bytes,
        optional: true,
      },
      'access-mode': {
        doc: 'access mode of the volume',
        parse: choice(...accessModes),
        default: 'SINGLE_NODE_WRITER',
      },
      'access-type': { doc: 'access type of the volume', parse: choice(...accessTypes), default: 'mount' },
      'dry-run': dryRun,
      ...kubernetes,
    },
    operands: ['volume'],
    async ask(client, call, { volume: volumeId, pool, 'storage-id': storageId, ...rest }) {
      const { size: sizeBytes, 'dry-run': isDry, ...more } = rest;
      const { 'access-mode': accessMode, 'access-type': accessType, ...names } = more;
      const values = { volumeId, pool, storageId, sizeBytes, accessMode, accessType, isDry };
      return printManifests(importVolume(client, call, values), { isDry, names });
    },
  }),
};

/** Prints the manifests of the volume in its cluster in place of the sentence, which is all that a dry run prints. */
async function printManifests(
  action: Promise<OwnedResult>,
  { isDry, names }: { readonly isDry: boolean; readonly names: ManifestNames },
): Promise<ActionResult> {
  const result = await action;
  if (isDry) return result;
  const manifests = toManifests(result.data, names);
  const documents = await Promise.all(manifests.map(one => toOutput(one, 'yaml')));
  return { ...result, data: { ...result.data, manifests }, table: documents.join('---\n').trimEnd() };
}
