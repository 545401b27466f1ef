import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAdmin, type AdminOptions } from '../../../gateway/admin/admin.ts';
import { createApp, type AppDeps } from '../../../gateway/http/app.ts';
import { docsRoutes } from '../../../gateway/http/docs.ts';
import { createHandlers } from '../../../gateway/http/handlers.ts';
import { createClient } from '../../../src/api/client.ts';
import { allOperations, maxPageBlocks, maxPageEntries, operations } from '../../../src/api/operations.ts';

const ids = allOperations.map(({ id }) => id).toSorted();

test('every operation is a function of the client, which has no other but close', async () => {
  const { close, ...calls } = createClient({ url: 'http://localhost:1', token: async () => '' });
  await close();
  assert.deepEqual(Object.keys(calls).toSorted(), ids);
});

const deps = { admin: createAdmin({} as AdminOptions) } as AppDeps;

test('every operation has a handler, and no handler is of none', () => {
  assert.deepEqual(Object.keys(createHandlers(deps)).toSorted(), ids);
});

test('every route of the gateway is an operation, but for those of the description', () => {
  const served = createApp(deps)
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  const rows = allOperations.map(({ route }) => route);
  const docs = Object.values(docsRoutes).map(path => `GET ${path}`);
  assert.deepEqual(served.toSorted(), [...rows, ...docs].toSorted());
});

const limits = [
  { query: {}, most: maxPageEntries },
  { query: { limit: '0' }, most: maxPageEntries },
  { query: { limit: '7' }, most: 7 },
  { query: { limit: '999999999' }, most: maxPageEntries },
];
for (const { query, most } of limits) {
  test(`a list with the query ${JSON.stringify(query)} has at most ${most} entries`, () => {
    assert.equal(operations.listVolumes.query.parse(query).limit, most);
  });
}

test('blocks are asked for from 0 on and as many as one page holds, unless told otherwise', () => {
  const { query } = operations.listBlocks;
  assert.partialDeepStrictEqual(query.parse({}), { offset: 0, limit: maxPageBlocks });
  assert.deepEqual(query.parse({ base: 'a.s', offset: '12', limit: '3' }), {
    base: 'a.s',
    offset: 12,
    limit: 3,
  });
});
