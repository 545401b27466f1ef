import type { OwnedVolume } from '../../../api/admin.ts';
import { accessModes, accessTypes } from '../../../api/storage.ts';
import { bytes, choice, text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { toOutput } from '../../output/formats.ts';
import { command, shared } from './command.ts';
import { findUncutWarning } from '../../actions/cut-off.ts';
import { requireGrantee } from '../../actions/names.ts';
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
    },
    operands: ['volume', 'cluster'],
    async ask(client, call, { volume: volumeId, cluster: grantee, access }) {
      const data = await client.grantAdminVolume({ volumeId, grantee, body: { access } }, call);
      return { data, table: `volume "${volumeId}" is shared with cluster "${grantee}" ${access}` };
    },
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
    },
    operands: ['volume', 'cluster'],
    async ask(client, call, { volume: volumeId, cluster: grantee, force }) {
      await requireGrantee(client, call, { volumeId, grantee });
      const ofGrantee = { volumeId, cluster: grantee };
      const warning = force ? await findUncutWarning(client, call, ofGrantee) : undefined;
      await client.revokeAdminGrant({ volumeId, grantee, force: force ? 'true' : 'false' }, call);
      const table = `volume "${volumeId}" is not shared with cluster "${grantee}"`;
      return { data: { ...ofGrantee, ...(warning && { isCutOff: false }) }, table, warning };
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
      ...kubernetes,
    },
    operands: ['volume'],
    async ask(client, call, { volume: volumeId, to, name, ...names }) {
      const warning = await findUncutWarning(client, call, { volumeId });
      const owned = await client.transferVolume({ volumeId, body: { cluster: to, name } }, call);
      const { data, table } = await toResult(owned, names);
      return { data: { ...data, ...(warning && { isCutOff: false }) }, table, warning };
    },
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
      ...kubernetes,
    },
    operands: ['volume'],
    async ask(client, call, { volume: volumeId, pool, 'storage-id': storageId, ...rest }) {
      const { size: sizeBytes, 'access-mode': accessMode, 'access-type': accessType, ...names } = rest;
      const body = { pool, storageId, sizeBytes, capabilities: [{ accessType, accessMode }] };
      return toResult(await client.importVolume({ volumeId, body }, call), names);
    },
  }),
};

async function toResult(owned: OwnedVolume, names: ManifestNames) {
  const manifests = toManifests(owned, names);
  const documents = await Promise.all(manifests.map(one => toOutput(one, 'yaml')));
  return { data: { ...owned, manifests }, table: documents.join('---\n').trimEnd() };
}
