import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAdmin, type AdminOptions } from '../../../gateway/admin/admin.ts';
import { createApp, type AppDeps } from '../../../gateway/http/app.ts';
import { docsRoutes } from '../../../gateway/http/docs.ts';
import { createHandlers } from '../../../gateway/http/handlers.ts';
import { allOperations, maxPageBlocks, maxPageEntries, operations } from '../../../src/api/operations.ts';

const deps = { admin: createAdmin({ engine: {} } as AdminOptions) } as AppDeps;

test('every operation has a handler, and every handler an operation', () => {
  const ids = allOperations.map(({ id }) => id);
  assert.deepEqual(Object.keys(createHandlers(deps)).toSorted(), ids.toSorted());
});

test("every route of the gateway is an operation, except the description's routes", () => {
  const served = createApp(deps)
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  const docs = Object.values(docsRoutes).map(path => `GET ${path}`);
  assert.deepEqual(served.toSorted(), [...allOperations.map(({ route }) => route), ...docs].toSorted());
});

test('a page of a list or of blocks has its maximum size unless a smaller one is requested', () => {
  const list = operations.listVolumes.query;
  for (const limit of [undefined, '0', '999999999'])
    assert.equal(list.parse({ limit }).limit, maxPageEntries);
  assert.equal(list.parse({ limit: '7' }).limit, 7);
  const { query } = operations.listBlocks;
  assert.partialDeepStrictEqual(query.parse({}), { offset: 0, limit: maxPageBlocks });
  const asked = { base: 'a.s', offset: '12', limit: '3' };
  assert.deepEqual(query.parse(asked), { base: 'a.s', offset: 12, limit: 3 });
});
