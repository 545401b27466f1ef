import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, type AppDeps } from '../../../../gateway/http/app.ts';
import { docsRoutes } from '../../../../gateway/http/docs.ts';
import { openApiDocument } from '../../../../src/api/http/openapi.ts';
import { allOperations } from '../../../../src/api/operations.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { version } from '../../../../src/lib/version.ts';
import { createMemoryLog, openGateway } from '../../../harness/gateway.ts';

for (const path of Object.values(docsRoutes))
  test(`${path} needs a token unless the description is public`, async () => {
    const answer = await createDocsApp(false).request(path);
    assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer']);
    assert.equal((await createDocsApp(true).request(path)).status, 200);
  });

test('with a public description, everything else still needs a token', async () => {
  const app = createDocsApp(true);
  const others = [
    ...allOperations.map(({ method, path }) => [method, path]),
    ['post', '/docs'],
    ['get', '/docs/'],
    ['get', '/docs/a'],
    ['put', '/openapi.json'],
    ['get', '/'],
  ];
  for (const [method = '', path = ''] of others)
    assert.equal((await app.request(path, { method })).status, 401, `${method} ${path}`);
});

test('the document is served with a token', async t => {
  const { ask } = await openGateway(t);
  const { status, body } = await ask('GET /openapi.json');
  assert.deepEqual([status, body], [200, openApiDocument(version)]);
});

test('the page shows every operation and schema, runs no script and loads nothing', async () => {
  const answer = await createDocsApp(true).request(docsRoutes.page);
  const html = await answer.text();
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src/);
  assert.doesNotMatch(html, /<(script|link|img|iframe)\b/);
  for (const { id } of allOperations) assert.ok(html.includes(`id="${id}"`), id);
  for (const [, id = ''] of html.matchAll(/href="#([^"]+)"/g)) assert.ok(html.includes(`id="${id}"`), id);
  assert.ok(html.includes('href="#schema-VolumeSpec"') && html.includes('&quot;pvc-1&quot;'));
});

function createDocsApp(isPublic: boolean) {
  const deps = {
    authenticate: async () => {
      throw new Problem('UNAUTHENTICATED', 'there is no bearer token');
    },
    version,
    log: createMemoryLog().log,
    publicDocs: isPublic,
  };
  // No request here reaches the services.
  return createApp(deps as unknown as AppDeps);
}
