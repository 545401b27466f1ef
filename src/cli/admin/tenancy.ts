import type { OwnedVolume } from '../../api/admin.ts';
import { accessModes, accessTypes } from '../../api/storage.ts';
import { bytes, choice, text } from '../../lib/parsers.ts';
import { command, shared, yesOrNo } from './command.ts';
import { type ManifestNames, toManifests } from './manifests.ts';

const volume = { doc: "the volume's id", parse: text } as const;
const cluster = { doc: 'the other cluster', parse: text } as const;

/** By what Kubernetes finds a volume that a cluster gets. */
const kubernetes = {
  driver: { doc: 'the name of the CSI driver in that cluster', parse: text, default: 'csi.fairlead.dev' },
  namespace: { doc: 'where the claim is to be', parse: text, default: 'default' },
  claim: { doc: 'the name of the claim; without it: that of the volume', parse: text, optional: true },
} as const;

/** Commands about volumes of one cluster for another, by their names. */
export const tenancyCommands = {
  grant: command({
    doc: 'shares a volume with another cluster',
    settings: {
      ...shared,
      volume,
      cluster,
      access: {
        doc: 'what the other cluster may do',
        parse: choice('read-only', 'read-write'),
        default: 'read-only',
      },
    },
    operands: ['volume', 'cluster'],
    async ask(client, call, { volume: volumeId, cluster: grantee, access }) {
      const data = await client.grantAnyVolume({ volumeId, grantee, body: { access } }, call);
      return { data, table: `volume "${volumeId}" is shared with cluster "${grantee}" ${access}` };
    },
  }),
  revoke: command({
    doc: 'shares a volume with a cluster no longer',
    settings: {
      ...shared,
      volume,
      cluster,
      force: {
        doc: 'detaches it from the nodes of that cluster first',
        parse: yesOrNo,
        default: 'false',
        isSwitch: true,
      },
    },
    operands: ['volume', 'cluster'],
    async ask(client, call, { volume: volumeId, cluster: grantee, force }) {
      await client.revokeAnyGrant({ volumeId, grantee, force }, call);
      const table = `volume "${volumeId}" is not shared with cluster "${grantee}"`;
      return { data: { volumeId, cluster: grantee }, table };
    },
  }),
  'hand-over': command({
    doc: 'gives a volume to another cluster, once it is detached from every node, and prints the manifests by which Kubernetes finds it there',
    settings: {
      ...shared,
      volume,
      to: cluster,
      name: {
        doc: 'what its new id ends with; without it: what it ends with now',
        parse: text,
        optional: true,
      },
      ...kubernetes,
    },
    operands: ['volume'],
    async ask(client, call, { volume: volumeId, to, name, ...names }) {
      return toResult(await client.handOverVolume({ volumeId, body: { cluster: to, name } }, call), names);
    },
  }),
  import: command({
    doc: "imports a volume of a pool's storage that belongs to no cluster, under this id, and prints the manifests for Kubernetes",
    settings: {
      ...shared,
      volume: { doc: "the volume's id, which begins with its cluster, as east.data", parse: text },
      pool: { doc: 'the pool that has it', parse: text },
      'storage-id': { doc: 'what the storage calls it; without it: the same', parse: text, optional: true },
      size: { doc: 'its size, where the storage does not know that', parse: bytes, optional: true },
      'access-mode': {
        doc: 'how nodes may use it',
        parse: choice(...accessModes),
        default: 'SINGLE_NODE_WRITER',
      },
      'access-type': { doc: 'as what nodes use it', parse: choice(...accessTypes), default: 'mount' },
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
  const { stringify } = await import('yaml');
  return {
    data: { ...owned, manifests },
    table: manifests
      .map(one => stringify(one))
      .join('---\n')
      .trimEnd(),
  };
}
