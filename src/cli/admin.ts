import type { Finding, Unasked } from '../api/admin.ts';
import type { StorageClient } from '../api/client.ts';
import { durationMs, text } from '../lib/parsers.ts';
import { command, shared, yesOrNo } from './admin/command.ts';
import { tenancyCommands } from './admin/tenancy.ts';
import { renderTable } from './output/table.ts';
import { toAge } from './output/values.ts';

const stuckAfter = {
  'stuck-after': { doc: 'work that is not done after this is stuck', parse: durationMs, default: '10m' },
} as const;

/** Every admin command by its name. */
export const adminCommands = {
  audit: command({
    doc: 'shows what the storage and the store do not agree on',
    settings: { ...shared, ...stuckAfter },
    async ask(client, call, { 'stuck-after': stuckAfterMs }) {
      const data = await client.audit({ stuckAfterMs }, call);
      const { findings, total, unasked = [] } = data;
      const table = [toTable(findings.map(toRow), total), ...unasked.map(toLine)].join('\n');
      return { data, table, status: total + unasked.length > 0 ? 2 : 0 };
    },
  }),
  repair: command({
    doc: 'shows what a repair would do; with --yes it does it: finishes what is stuck, removes what is unknown',
    settings: {
      ...shared,
      ...stuckAfter,
      'safety-age': {
        doc: 'how long audits must have seen what is unknown before it is removed',
        parse: durationMs,
        default: '1h',
      },
      yes: { doc: 'does it', parse: yesOrNo, default: 'false', isSwitch: true },
    },
    async ask(client, call, { yes, 'stuck-after': stuckAfterMs, 'safety-age': safetyAgeMs }) {
      const body = { dryRun: yes === 'false', stuckAfterMs, safetyAgeMs };
      const data = await client.repair({ body }, call);
      const { steps, total, unasked = [] } = data;
      const rows = steps.map(step => ({
        ...toRow(step),
        action: step.action,
        outcome: step.outcome ?? '',
        note: step.note,
      }));
      const isLeft = steps.some(({ outcome }) => outcome !== 'done') || total > steps.length;
      const table = [toTable(rows, total), ...unasked.map(toLine)].join('\n');
      return { data, table, status: isLeft || unasked.length > 0 ? 2 : 0 };
    },
  }),
  deleted: command({
    doc: 'lists volumes that are deleted and can be restored',
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
      return { data: { volumes }, table: toTable(rows, rows.length) };
    },
  }),
  restore: command({
    doc: 'makes a deleted volume ready again',
    settings: { ...shared, volume: { doc: "the volume's id", parse: text } },
    operands: ['volume'],
    async ask(client, call, { volume: volumeId }) {
      await client.restoreVolume({ volumeId }, call);
      return { data: { volumeId }, table: `volume "${volumeId}" is ready again` };
    },
  }),
  ...tenancyCommands,
};

function toRow({ problem, pool, kind, id, ageMs, detail }: Finding) {
  return { problem, pool, kind, id, age: toAge(ageMs), found: detail };
}

/** What is said of a pool whose storage could not be asked. */
function toLine({ pool, detail }: Unasked): string {
  return `pool "${pool}" could not be asked: ${detail}`;
}

/** Rows as columns for people, with their keys as heads; `total` counts those too that did not fit into the answer. */
export function toTable(rows: readonly Readonly<Record<string, string>>[], total: number): string {
  const [first] = rows;
  if (!first) return 'nothing was found';
  const table = renderTable(Object.keys(first), rows.map(Object.values)).trimEnd();
  return total > rows.length ? `${table}\nand ${total - rows.length} more` : table;
}
