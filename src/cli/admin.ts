import { resolve } from 'node:path';
import type { Finding, RepairStep } from '../api/admin.ts';
import { createClient, type StorageClient } from '../api/client.ts';
import type { Call } from '../api/http.ts';
import { createTokenSource } from '../controller/tokens.ts';
import { choice, durationMs, httpUrl, text } from '../lib/parsers.ts';
import type { SettingsOf, SettingsTable } from '../lib/settings.ts';
import { toAge, toTable } from './table.ts';

const yesOrNo = choice('true', 'false');

/** How every admin command reaches the gateway. */
const shared = {
  gateway: { doc: 'address of the storage API, such as https://storage.example', parse: httpUrl },
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

/** What a command prints, and its exit status: 2 when something is left that should not be. */
type Result = { readonly data: unknown; readonly table: string; readonly status: number };

/** One admin command. */
export type AdminCommand = {
  readonly doc: string;
  readonly settings: SettingsTable;
  run(settings: never): Promise<number>;
};

type Asking = { readonly client: StorageClient; readonly call: Call };

/** Every admin command by its name. */
export const adminCommands: Readonly<Record<string, AdminCommand>> = {
  audit: command({
    doc: 'shows what the storage and the store do not agree on',
    settings: { ...shared, ...stuckAfter },
    async ask({ client, call }, { 'stuck-after': stuckAfterMs }) {
      const found = await client.audit({ stuckAfterMs }, call);
      const rows = found.findings.map(toRow);
      return {
        data: found,
        table: show(['problem', 'pool', 'kind', 'id', 'age', 'found'], rows, found.total),
        status: found.total > 0 ? 2 : 0,
      };
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
    async ask({ client, call }, { yes, 'stuck-after': stuckAfterMs, 'safety-age': safetyAgeMs }) {
      const body = { dryRun: yes === 'false', stuckAfterMs, safetyAgeMs };
      const done = await client.repair({ body }, call);
      const heads = ['problem', 'pool', 'kind', 'id', 'age', 'found', 'action', 'outcome', 'note'];
      return {
        data: done,
        table: show(heads, done.steps.map(toStepRow), done.total),
        status:
          done.steps.some(({ outcome }) => outcome !== 'done') || done.total > done.steps.length ? 2 : 0,
      };
    },
  }),
  deleted: command({
    doc: 'lists volumes that are deleted and can be restored',
    settings: shared,
    async ask({ client, call }) {
      const volumes = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
        const page: Awaited<ReturnType<StorageClient['listDeletedVolumes']>> =
          await client.listDeletedVolumes({ pageToken }, call);
        volumes.push(...page.volumes);
        pageToken = page.nextPageToken;
      }
      const rows = volumes.map(({ id, pool, sizeBytes, restorableUntilMs }) => [
        id,
        pool,
        String(sizeBytes),
        new Date(restorableUntilMs).toISOString(),
      ]);
      return {
        data: { volumes },
        table: show(['volume', 'pool', 'bytes', 'restorable until'], rows, rows.length),
        status: 0,
      };
    },
  }),
  restore: command({
    doc: 'makes a deleted volume ready again',
    settings: { ...shared, volume: { doc: "the volume's id", parse: text } },
    async ask({ client, call }, { volume: volumeId }) {
      await client.restoreVolume({ volumeId }, call);
      return { data: { volumeId }, table: `volume "${volumeId}" is ready again`, status: 0 };
    },
  }),
};

type Asked<T extends SettingsTable> = {
  readonly doc: string;
  readonly settings: T;
  readonly ask: (asking: Asking, settings: SettingsOf<T>) => Promise<Result>;
};

function command<T extends typeof shared>({ doc, settings, ask }: Asked<T>): AdminCommand {
  return {
    doc,
    settings,
    async run(values: SettingsOf<T>) {
      const given: SettingsOf<typeof shared> = values;
      const token = createTokenSource({
        keyFile: given['key-file'],
        issuer: 'operators',
        audience: given.audience,
        lifetimeMs: 60_000,
      });
      const client = createClient({ url: given.gateway, token });
      try {
        const { data, table, status } = await ask(
          { client, call: { deadlineMs: Date.now() + given.timeout } },
          values,
        );
        process.stdout.write(`${given.json === 'true' ? JSON.stringify(data, null, 2) : table}\n`);
        return status;
      } finally {
        await client.close();
      }
    },
  };
}

function show(heads: readonly string[], rows: readonly (readonly string[])[], total: number): string {
  if (total === 0) return 'nothing was found';
  const more = total > rows.length ? `\nand ${total - rows.length} more` : '';
  return toTable([heads, ...rows]) + more;
}

function toRow({ problem, pool, kind, id, ageMs, detail }: Finding): readonly string[] {
  return [problem, pool, kind, id, toAge(ageMs), detail];
}

function toStepRow({ action, outcome, note, ...finding }: RepairStep): readonly string[] {
  return [...toRow(finding), action, outcome ?? '', note];
}
