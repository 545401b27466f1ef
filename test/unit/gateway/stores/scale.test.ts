import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOperations } from '../../../../src/api/operations.ts';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { openGateway } from '../../../harness/gateway.ts';
import { isFull } from '../../../harness/sample.ts';
import { copyRow, few, many, type StoreSizes } from '../../../harness/scale/full-store.ts';
import { countSteps } from '../../../harness/scale/statement-steps.ts';
import { visits } from '../../../harness/scale/visits.ts';
import {
  askSuccessfully,
  type FilledGateway,
  openFilled,
  type Work,
  works,
} from '../../../harness/scale/works.ts';

/** Operations that compare everything by their nature; they proceed in short pieces. */
const comparing: readonly string[] = ['check', 'repair'];

/** The number of additional steps for deeper trees. */
const slack = 300;
/** The steps that SQLite takes in about two milliseconds. */
const maxStepsInSlice = 50_000;

const dayMs = 86_400_000;

/** Reduces a store's size to a tenth or less, unless tests run at full length. */
const shorter = ({ claims, ...sizes }: StoreSizes): StoreSizes => {
  const fewer = Object.entries(sizes).map(([name, size]) => [name, Math.min(size / 10, 20_000)]);
  return isFull ? { claims, ...sizes } : { ...(Object.fromEntries(fewer) as StoreSizes), claims };
};

test('each operation, sweep and command costs as much as its page, in a store of any size', async t => {
  const [small, large] = [await openFilled(t, few), await openFilled(t, shorter(many))];
  for (const work of works)
    await t.test(work.name, async () => {
      const [one, other] = [await measure(small, work), await measure(large, work)];
      const dearest = [...other.statements].toSorted(([, a], [, b]) => b - a).slice(0, 3);
      const said = `${other.all} steps, and ${one.all} with few rows: ${JSON.stringify(dearest)}`;
      assert.ok(other.all <= 2 * one.all + slack, said);
      assert.ok(other.maxInSlice <= maxStepsInSlice, `${other.maxInSlice} steps in one time slice: ${said}`);
    });
});

test('a create costs the same, however many clusters have volumes in its pool', async t => {
  const gateway = await openGateway(t);
  await gateway.create('a.template');
  const create = async (name: string) => {
    await gateway.create(`a.${name}-first`);
    return (await countSteps(() => gateway.create(`a.${name}`))).all;
  };
  const alone = await create('alone');
  const each = { id: `'c' || i || '.one'`, cluster: `'c' || i` };
  const template = { of: 'volumes', where: `id = 'a.template'`, count: 1_000 };
  await gateway.engine.transaction(sql => copyRow(sql, template, each));
  // Counts the rows, as a gateway does at its start.
  await migrate(gateway.engine);
  const crowded = await create('crowded');
  assert.ok(crowded <= alone + slack, `${crowded} steps, and ${alone} with one cluster`);
});

test('a search finds the only id with its text, and runs in short time slices', async t => {
  const gateway = await openFilled(t, shorter(many));
  const { ask, create } = gateway;
  await create('a.z-needle');
  for (const query of ['search=needle', 'search=needle&cluster=a', 'search=needle&limit=1']) {
    const found = await countSteps(async () => {
      const { body } = await ask(`GET /v1/admin/volumes?${query}`, { as: 'operator' });
      assert.partialDeepStrictEqual(body, { volumes: [{ id: 'a.z-needle' }] });
      assert.equal(body['nextPageToken'], undefined);
    });
    assert.ok(found.maxInSlice <= maxStepsInSlice, `${query}: ${found.maxInSlice} steps in one time slice`);
  }
  const none = await ask('GET /v1/admin/volumes?search=needle&cluster=b', { as: 'operator' });
  assert.deepEqual(none.body['volumes'], []);
});

test('a sweep with much to end, and a check of everything, run in short time slices', async t => {
  const sizes = isFull ? many : { ...few, auditEntries: 5_000 };
  const gateway = await openFilled(t, sizes);
  const { engine, recovery } = gateway;
  await engine.transaction(async sql => {
    await sql.run(`update audit_log set id = '00' || substr(id, 3)`);
    const overMs = Date.now() - dayMs;
    await sql.run(`update volumes set restorable_until_ms = ? where state = 'deleted'`, overMs);
    await sql.run('update claims set until_ms = ?', overMs);
  });
  const numberOf = async (rows: string): Promise<number> =>
    Number((await engine.reader.all(`select count(*) as number from ${rows}`))[0]?.['number']);
  // A sweep also writes an entry for each volume that it ends.
  const oldEntries = `audit_log where id < '01'`;
  const logged = await numberOf(oldEntries);
  const swept = await countSteps(() => recovery.sweep());
  assert.ok(swept.maxInSlice <= maxStepsInSlice, `a sweep: ${swept.maxInSlice} steps in one time slice`);
  assert.equal(await numberOf('claims'), 0);
  assert.ok((await numberOf(`volumes where state = 'deleted'`)) <= sizes.softDeleted - few.softDeleted);
  assert.ok((await numberOf(oldEntries)) < logged);
  for (const route of ['GET /v1/admin/check', 'PUT /v1/admin/repair']) {
    const body = route.startsWith('PUT') ? { body: { dryRun: true } } : {};
    const { maxInSlice } = await countSteps(() =>
      askSuccessfully(gateway, [route, { as: 'operator', ...body }]),
    );
    assert.ok(maxInSlice <= maxStepsInSlice, `${route}: ${maxInSlice} steps in one time slice`);
  }
});

test('every operation is visited except the checks, which compare everything', () => {
  const left = allOperations.map(({ id }) => id).filter(id => visits[id].length === 0);
  assert.deepEqual(left, comparing);
});

/** Counts the steps of a task once its statements are prepared. */
async function measure(gateway: FilledGateway, { before, work }: Work) {
  await before(gateway, 0);
  await work(gateway, 0);
  await before(gateway, 1);
  return countSteps(() => work(gateway, 1));
}
