import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine, Sql, SqlValue } from '../../../../gateway/store.ts';
import { limits } from '../../../../src/api/limits.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import type { StoreSizes } from '../../../harness/scale/full-store.ts';
import { openFilled, works } from '../../../harness/scale/works.ts';

const server = sharePostgres();

const size = 10_000;
const sizes: StoreSizes = {
  volumes: size,
  softDeleted: size,
  snapshots: size,
  nodes: 4 * size,
  attachments: size,
  grants: size,
  findings: size,
  claims: 2_000,
  auditEntries: size,
};

/** The statement that refuses a new node if there are too many; it counts no further than the limit. */
const counting = /\(select 1 from nodes where true and cluster = \?\s+limit \?\)/;

/** More rows than any page has, and than there are claims: PostgreSQL reads all rows of a small table. */
const maxRows = 2_500;

type Statement = { readonly text: string; readonly values: readonly SqlValue[] };
/** A node of a plan, in the format of `explain`. */
type Plan = { readonly Plans?: readonly Plan[] } & Readonly<Record<string, unknown>>;

test(
  'no statement of PostgreSQL reads more rows than a page has, in a store of any size',
  { skip },
  async t => {
    const { createDatabase } = await server();
    const store = `postgres:${await createDatabase()}`;
    const statements = new Map<string, Statement>();
    const wrapEngine = (engine: Engine): Engine => noteStatements(engine, statements);
    const gateway = await openFilled(t, sizes, { store, wrapEngine });
    const { engine } = gateway;
    await engine.transaction(sql => sql.run('analyze'));
    statements.clear();
    for (const { before, work } of works) {
      await before(gateway, 0);
      await work(gateway, 0);
    }
    const all = [...statements.values()];
    assert.ok(all.length > 100, `${all.length} statements`);
    for (const statement of all) {
      const rows = await countRows(engine, statement);
      const max = counting.test(statement.text) ? limits.nodesPerCluster.max : maxRows;
      assert.ok(rows <= max, `${rows} rows are read by ${statement.text}`);
    }
  },
);

/** Wraps the engine and records the last values of each statement. */
function noteStatements(engine: Engine, statements: Map<string, Statement>): Engine {
  const note = (text: string, values: readonly SqlValue[]): void => {
    statements.set(text, { text, values });
  };
  const noteIn = (sql: Sql): Sql => ({
    ...sql,
    all: (text, ...values) => (note(text, values), sql.all(text, ...values)),
    run: (text, ...values) => (note(text, values), sql.run(text, ...values)),
    write: (text, ...values) => (note(text, values), sql.write(text, ...values)),
    require: (otherwise, text, ...values) => (note(text, values), sql.require(otherwise, text, ...values)),
  });
  return {
    ...engine,
    reader: { all: (text, ...values) => (note(text, values), engine.reader.all(text, ...values)) },
    transaction: work => engine.transaction(sql => work(noteIn(sql))),
  };
}

/** Runs the statement, rolls it back, and returns the number of rows that it read. */
async function countRows({ transaction }: Engine, { text, values }: Statement): Promise<number> {
  let rows = 0;
  const undone = new Error('undone');
  await transaction(async sql => {
    const [row] = await sql.all(`explain (analyze, timing off, format json) ${text}`, ...values);
    const [{ Plan: plan }] = JSON.parse(String(row?.['QUERY PLAN'])) as [{ readonly Plan: Plan }];
    rows = rowsOf(plan);
    throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return rows;
}

/** Sums the rows of a plan's scans, including the rows that conditions exclude. */
function rowsOf(plan: Plan): number {
  const below = (plan.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), 0);
  if (plan['Relation Name'] === undefined || plan['Node Type'] === 'ModifyTable') return below;
  const found = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Index Recheck'];
  const each = found.reduce((sum, name) => sum + Number(plan[name] ?? 0), 0);
  return below + each * Number(plan['Actual Loops']);
}
