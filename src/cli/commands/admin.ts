import type { StorageClient } from '../../api/client.ts';
import { durationMs, text } from '../../lib/parsers.ts';
import { onOrOff } from '../../lib/settings.ts';
import { check, repair } from '../actions/check.ts';
import { detachNode } from '../actions/nodes.ts';
import { restore } from '../actions/volumes.ts';
import { command, dryRun, shared } from './admin/command.ts';
import { drainCommand } from './admin/drain.ts';
import { retireCommand } from './admin/retire.ts';
import { sharingCommands } from './admin/sharing.ts';
import { snapshotCommands } from './admin/snapshots.ts';
import { volumeCommands } from './admin/volumes.ts';
import { renderRows } from '../output/table.ts';

const stuckAfter = {
  'stuck-after': {
    doc: 'minimum age of an unfinished operation that counts as stuck',
    parse: durationMs,
    default: '10m',
  },
} as const;

/** Every admin command by its name. */
export const adminCommands = {
  check: command({
    doc: 'checks the storage against the store, and lists the differences and stuck operations',
    exits: { 2: 'there are differences or stuck operations, or a pool was not checked' },
    settings: { ...shared, ...stuckAfter },
    ask: (client, call, { 'stuck-after': stuckAfterMs }) =>
      check(client, call, { stuckAfterMs, isDry: true }),
  }),
  repair: command({
    doc: 'lists the steps that would repair the differences; with --yes it takes them: finishes stuck operations, removes unknown volumes and snapshots',
    exits: { 2: 'differences or stuck operations are left, or a pool was not checked' },
    settings: {
      ...shared,
      ...stuckAfter,
      'safety-age': {
        doc: 'time for which checks must have seen an unknown volume or snapshot before it is removed',
        parse: durationMs,
        default: '1h',
      },
      yes: { doc: 'take the steps', ...onOrOff },
    },
    ask: (client, call, { yes, 'stuck-after': stuckAfterMs, 'safety-age': safetyAgeMs }) =>
      repair(client, call, { isDry: !yes, stuckAfterMs, safetyAgeMs }),
  }),
  deleted: command({
    doc: 'lists deleted volumes that can still be restored',
    settings: shared,
    async ask(client, call) {
      const volumes = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
        const page: Awaited<ReturnType<StorageClient['listDeletedVolumes']>> =
          await client.listDeletedVolumes({ pageToken }, call);
        volumes.push(...page.volumes);
        pageToken = page.nextPageToken;
      }
      const rows = volumes.map(({ id, pool, sizeBytes, restorableUntilMs }) => ({
        volume: id,
        pool,
        bytes: String(sizeBytes),
        'restorable until': new Date(restorableUntilMs).toISOString(),
      }));
      return { data: { volumes }, table: renderRows(rows, rows.length) };
    },
  }),
  restore: command({
    doc: 'restores a deleted volume',
    settings: { ...shared, volume: { doc: "the volume's id", parse: text } },
    operands: ['volume'],
    ask: (client, call, { volume: volumeId }) => restore(client, call, { volumeId, isDry: false }),
  }),
  'detach-node': command({
    doc: 'detaches all volumes from a node whose machine is gone for good, so that its replacement, with the same name and another key, can attach them',
    settings: {
      ...shared,
      cluster: {
        doc: 'the cluster of the node; or CLUSTER/NODE, as `fairlead get nodes -o name` prints it',
        parse: text,
      },
      node: {
        doc: "the node's id with its key, as `fairlead get nodes -o json` prints it; required unless it follows the cluster and a slash",
        parse: text,
        optional: true,
      },
      force: {
        doc: 'also if its cluster has not deleted the node, or a pool cannot cut it off; pods that use volumes there get I/O errors',
        ...onOrOff,
      },
      'dry-run': dryRun,
    },
    operands: ['cluster', 'node'],
    async ask(client, call, { cluster: place, node, force, 'dry-run': isDry }) {
      const [cluster = '', ...rest] = node === undefined ? place.split('/') : [place];
      const nodeId = node ?? rest.join('/');
      if (nodeId === '')
        throw new Error(
          '--node is required: give CLUSTER NODE, or CLUSTER/NODE as `fairlead get nodes -o name` prints it',
        );
      return detachNode(client, call, { cluster, nodeId, force, isDry });
    },
  }),
  drain: drainCommand,
  'retire-cluster': retireCommand,
  ...volumeCommands,
  ...snapshotCommands,
  ...sharingCommands,
};
