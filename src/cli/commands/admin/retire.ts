import type { Retirement } from '../../../api/admin.ts';
import { choice, text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { renderTable } from '../../output/table.ts';
import { command, dryRun, shared } from './command.ts';
import { uncutWarning } from '../../actions/cut-off.ts';

/** The command that takes a cluster out of service. */
export const retireCommand = command({
  doc: 'refuses the tokens of a cluster, detaches everything from its nodes, and keeps, deletes or transfers its volumes; its snapshots are kept or deleted',
  exits: { 2: 'a step failed, or would fail' },
  settings: {
    ...shared,
    name: { doc: 'the cluster', parse: text },
    volumes: {
      doc: "what to do with the cluster's volumes; deleted ones can be restored for the time of --keep-deleted of the gateway",
      parse: choice('keep', 'delete', 'transfer'),
      default: 'keep',
    },
    snapshots: {
      doc: "what to do with the cluster's snapshots; deleted ones cannot be restored, and none can be transferred",
      parse: choice('keep', 'delete'),
      default: 'keep',
    },
    to: { doc: 'the cluster that gets the volumes, with --volumes transfer', parse: text, optional: true },
    force: {
      doc: 'also detach volumes that are attached to the nodes of the cluster; the pods that use them get I/O errors',
      ...onOrOff,
    },
    end: { doc: 'end the retirement: the tokens of the cluster are accepted again', ...onOrOff },
    'dry-run': dryRun,
  },
  operands: ['name'],
  async ask(client, call, { name: cluster, volumes, snapshots, to, force, end, 'dry-run': isDry }) {
    const body = { ...fateOf(volumes, to), snapshots, force, end, dryRun: isDry };
    const data = await client.retireCluster({ cluster, body }, call);
    if (end) {
      const effect = isDry ? 'would be accepted' : 'are accepted';
      return { data, table: `the tokens of cluster "${cluster}" ${effect}` };
    }
    const left = isDry && snapshots === 'delete' ? 0 : data.snapshots;
    const table = `${toSteps(data)}${toEnd(cluster, { ...data, snapshots: left }, isDry)}`;
    return { data, table, status: data.failed > 0 ? 2 : 0 };
  },
});

type Fate = 'keep' | 'delete' | 'transfer';

function fateOf(volumes: Fate, to: string | undefined) {
  if (volumes === 'transfer') {
    if (to !== undefined) return { volumes, to };
    throw new Error('--to is missing: name the cluster that gets the volumes');
  }
  if (to === undefined) return { volumes };
  throw new Error(
    `--to "${to}" is given, but --volumes is ${volumes}: give --volumes transfer, or leave --to out`,
  );
}

function toSteps({ steps, total }: Retirement): string {
  if (steps.length === 0) return '';
  const rows = steps.map(({ kind, id, action, outcome, note, isCutOff }) => {
    const notes = [note, isCutOff === false ? uncutWarning : ''].filter(one => one !== '');
    return [kind, id, action, outcome, notes.join('; ')];
  });
  const table = renderTable(['kind', 'id', 'action', 'outcome', 'note'], rows);
  return total > steps.length ? `${table}and ${total - steps.length} more\n` : table;
}

function toEnd(cluster: string, { failed, isRetired, snapshots }: Retirement, isDry: boolean): string {
  const named = `cluster "${cluster}"`;
  const count = failed === 1 ? '1 step' : `${failed} steps`;
  if (failed > 0 && isDry) return `${count} would fail; remove the causes first`;
  if (failed > 0 && isRetired)
    return `${named} is retired, but ${count} failed, and resources are left; remove the causes and run this again`;
  if (failed > 0)
    return `${count} failed, so ${named} stays in service; remove the causes and run this again`;
  const left =
    snapshots > 0
      ? `; its snapshots (${snapshots}) stay, unless you run this again with --snapshots delete`
      : '';
  if (isDry && !isRetired) return `the tokens of ${named} would be refused then${left}`;
  return `${named} is retired: its tokens are refused${left}; remove its entry from gateway.yaml, and see fairlead get clusters ${cluster} for what it left behind`;
}
