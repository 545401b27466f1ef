import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Finding, Unasked } from '../api/admin.ts';
import { createClient, type StorageClient } from '../api/client.ts';
import type { Call } from '../api/http.ts';
import { createTokenSource } from '../controller/tokens.ts';
import { choice, durationMs, httpUrl, requirePrivate, text } from '../lib/parsers.ts';
import { allowHttpSetting, type SettingsOf, type SettingsTable } from '../lib/settings.ts';

const yesOrNo = choice('true', 'false');

/** How every admin command reaches the gateway. */
const shared = {
  gateway: { doc: 'address of the storage API, such as https://storage.example', parse: httpUrl },
  'allow-http': allowHttpSetting,
  'key-file': {
    doc: "file with an operator's private key (a JWK with kid, Ed25519 or P-256)",
    parse: (value: string) => resolve(text(value)),
  },
  audience: { doc: "the tokens' audience, as set at the gateway", parse: text, default: 'fairlead' },
  timeout: { doc: 'how long the gateway may take', parse: durationMs, default: '10m' },
  json: { doc: 'prints JSON in place of a table', parse: yesOrNo, default: 'false', isSwitch: true },
} as const;

const stuckAfter = {
  'stuck-after': { doc: 'work that is not done after this is stuck', parse: durationMs, default: '10m' },
} as const;

/** What is printed, as JSON or as a table (or one sentence), and the exit status: 2 when something is left that should not be. */
type Result = { readonly data: unknown; readonly table: string; readonly status?: number };

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
    async ask(client, call, { volume: volumeId }) {
      await client.restoreVolume({ volumeId }, call);
      return { data: { volumeId }, table: `volume "${volumeId}" is ready again` };
    },
  }),
};

type Command<T extends SettingsTable> = {
  readonly doc: string;
  readonly settings: T;
  readonly ask: (client: StorageClient, call: Call, settings: SettingsOf<T>) => Promise<Result>;
};

function command<T extends typeof shared>({ doc, settings, ask }: Command<T>) {
  return {
    doc,
    settings,
    async run(values: SettingsOf<T>) {
      const given: SettingsOf<typeof shared> = values;
      const { gateway: url, 'key-file': keyFile, audience, timeout, json } = given;
      if (given['allow-http'] === 'false') requirePrivate(url);
      const token = createTokenSource({ keyFile, issuer: 'operators', audience, lifetimeMs: 60_000 });
      const client = createClient({ url, token });
      const requestId = randomUUID().slice(-12);
      try {
        const call = { deadlineMs: Date.now() + timeout, requestId };
        const { data, table, status = 0 } = await ask(client, call, values);
        process.stdout.write(`${json === 'true' ? JSON.stringify(data, null, 2) : table}\n`);
        return status;
      } catch (error) {
        // The gateway's log has it, too.
        process.stderr.write(`x-request-id: ${requestId}\n`);
        throw error;
      } finally {
        await client.close();
      }
    },
  };
}

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
  const lines = [Object.keys(first), ...rows.map(row => Object.values(row))];
  const widths = Object.keys(first).map((_, column) =>
    Math.max(...lines.map(line => line[column]?.length ?? 0)),
  );
  const table = lines.map(line =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...table, ...(total > rows.length ? [`and ${total - rows.length} more`] : [])].join('\n');
}

/** A duration in its largest unit, such as 3h. */
function toAge(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const;
  const [unit, unitMs] = units.find(([, least]) => ms >= least) ?? ['s', 1_000];
  return `${Math.floor(ms / unitMs)}${unit}`;
}
