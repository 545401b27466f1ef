import type { Engine, Sql } from '../../../gateway/store.ts';
import { tables } from '../../../gateway/tables/schema.ts';
import { limits } from '../../../src/api/limits.ts';
import { auditIdAt } from '../../../gateway/tables/audit-log.ts';

/** The number of rows of each kind in a store. */
export type StoreSizes = {
  readonly volumes: number;
  readonly softDeleted: number;
  readonly snapshots: number;
  readonly nodes: number;
  readonly attachments: number;
  readonly grants: number;
  readonly findings: number;
  readonly claims: number;
  readonly auditEntries: number;
};

/** The sizes of a small store. */
export const few: StoreSizes = {
  volumes: 1_000,
  softDeleted: 1_000,
  snapshots: 1_000,
  nodes: 1_000,
  attachments: 1_000,
  grants: 1_000,
  findings: 1_000,
  claims: 1_000,
  auditEntries: 1_000,
};

/** The sizes of a large store, with as many claims as there are requests in flight. */
export const many: StoreSizes = {
  volumes: 300_000,
  softDeleted: 100_000,
  snapshots: 100_000,
  nodes: 100_000,
  attachments: 50_000,
  grants: 50_000,
  findings: 50_000,
  claims: 2_000,
  auditEntries: 1_000_000,
};

/** The ids of the rows that exist before a store is filled; the new rows are copies of them. */
export const templates = {
  volume: 'a.template',
  snapshot: 'a.template',
  node: 'template',
} as const;

/** The number of nodes that have the template attached; each other attached volume has a node of its own. */
const nodesOfTemplate = 500;
/** The number of snapshots of one volume, and of nodes of one cluster: below the limits. */
const snapshotsOfOne = 500;
const nodesOfCluster = 5_000;

/** Adjacent volumes in the list, with as many attachments and grants as the limits allow; they follow `before`. */
const crowded = { volumes: 24, before: 'a.m1000700' };

/** The page token, without its list's name, of a page with 20 usual volumes followed by the crowded ones. */
export const beforeCrowded = 'a.m1000680';

const dayMs = 86_400_000;

/** Columns' values in SQL; `i` is the number of the new row. */
type Values = Readonly<Record<string, string>>;

/** Makes numbers that sort as text in their numeric order. */
const numbered = (of: string): string => `(1000000 + ${of})`;

/** Selects the numbers from 0 on; the statement's parameter is their count. */
const numbers = 'with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?)';

/**
 * Fills a store that has the templates, in SQL that every engine runs. Most rows belong to cluster `a` and have ids
 * that sort before the test's own; soft-deleted volumes are spread among them. A tenth of the audit log is about one
 * resource.
 */
export function fillStore({ transaction }: Engine, sizes: StoreSizes): Promise<void> {
  return transaction(async sql => {
    const nowMs = Date.now();
    const id = `'a.m' || ${numbered('i')}`;
    const volumes = { of: 'volumes', where: `id = '${templates.volume}'` };
    const volume = { id, name: `'m' || i`, source: `'snapshot a.cut' || (i % 2)` };
    await copyRow(sql, { ...volumes, count: sizes.volumes }, volume);
    await copyRow(
      sql,
      { ...volumes, count: sizes.softDeleted },
      {
        ...volume,
        id: `${id} || 'd'`,
        state: `'deleted'`,
        restorable_until_ms: `${nowMs + dayMs} + i`,
      },
    );
    const snapshots = { of: 'snapshots', where: `id = '${templates.snapshot}'`, count: sizes.snapshots };
    await copyRow(sql, snapshots, { id, volume_id: `'a.m' || ${numbered(`i / ${snapshotsOfOne}`)}` });
    await copyRow(
      sql,
      { of: 'nodes', where: `node_id = '${templates.node}'`, count: sizes.nodes },
      {
        cluster: `case i / ${nodesOfCluster} when 0 then 'a' else 'c' || i / ${nodesOfCluster} end`,
        node_id: `'m' || ${numbered('i')}`,
      },
    );
    const where = `volume_id = '${templates.volume}'`;
    await copyRow(
      sql,
      { of: 'attachments', where, count: sizes.attachments },
      {
        volume_id: `case when i < ${nodesOfTemplate} then volume_id else ${id} end`,
        node_id: `'m' || ${numbered('i')}`,
      },
    );
    await copyRow(sql, { of: 'grants', where, count: sizes.grants }, { volume_id: id });
    await fillCrowded(sql);
    await sql.run('update volumes set shared = 1 where id in (select volume_id from grants)');
    const first = 'id = (select min(id) from audit_log)';
    await copyRow(
      sql,
      { of: 'audit_log', where: first, count: sizes.auditEntries },
      {
        id: `'${auditIdAt(nowMs - dayMs / 24)}-' || (10000000 + i) || '-filled00'`,
        resource: `case i % 10 when 0 then 'a.refused' else ${id} end`,
        code: `case i % 10 when 0 then 'NOT_FOUND' else 'OK' end`,
      },
    );
    const ofVolume = { kind: `'volume'`, id };
    const finding = { ...ofVolume, pool: `'main'`, problem: `'missing'`, first_seen_ms: `${nowMs}` };
    await add(sql, { to: 'findings', count: sizes.findings }, finding);
    const times = { since_ms: `${nowMs}`, until_ms: `${nowMs + dayMs} + i` };
    const claim = { ...ofVolume, owner: `'other'`, operation: `'attach'`, ...times };
    await add(sql, { to: 'claims', count: sizes.claims }, claim);
  });
}

/** Adds the crowded volumes. */
async function fillCrowded(sql: Sql): Promise<void> {
  const [perVolume, grantsPerVolume] = [limits.attachmentsPerVolume.max, limits.grantsPerVolume.max];
  const idOf = (number: string): string => `'${crowded.before}c' || (10 + ${number})`;
  const volumes = { of: 'volumes', where: `id = '${templates.volume}'`, count: crowded.volumes };
  await copyRow(sql, volumes, { id: idOf('i'), name: `'crowded' || i` });
  const where = `volume_id = '${templates.volume}'`;
  await copyRow(
    sql,
    {
      of: 'attachments',
      where: `${where} and node_id = '${templates.node}'`,
      count: crowded.volumes * perVolume,
    },
    { volume_id: idOf(`i / ${perVolume}`), node_id: `'m' || ${numbered(`i % ${perVolume}`)}` },
  );
  await copyRow(
    sql,
    { of: 'grants', where, count: crowded.volumes * grantsPerVolume },
    { volume_id: idOf(`i / ${grantsPerVolume}`), cluster: `'c' || (i % ${grantsPerVolume})` },
  );
}

/** Copies one row of a table `count` times, with these values replaced. */
export async function copyRow(
  sql: Sql,
  { of, where, count }: { readonly of: string; readonly where: string; readonly count: number },
  changed: Values,
): Promise<void> {
  const columns = tables.find(({ name }) => name === of)?.columns ?? [];
  const values = columns.map(name => changed[name] ?? name).join(', ');
  const inserting = `insert into ${of} (${columns.join(', ')}) ${numbers}`;
  await sql.run(`${inserting} select ${values} from n, ${of} where ${where}`, count);
}

/** Adds `count` rows to a table. */
async function add(
  sql: Sql,
  { to, count }: { readonly to: string; readonly count: number },
  values: Values,
): Promise<void> {
  const inserting = `insert into ${to} (${Object.keys(values).join(', ')}) ${numbers}`;
  await sql.run(`${inserting} select ${Object.values(values).join(', ')} from n`, count);
}
