import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createApp, type AppDeps } from '../../../../gateway/http/app.ts';
import { docsRoutes } from '../../../../gateway/http/docs.ts';
import { readViewer } from '../../../../gateway/http/viewer.ts';
import { openApiDocument } from '../../../../src/api/openapi.ts';
import { operations } from '../../../../src/api/operations.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { createMemoryLog, makeGateway } from '../../../harness/gateway-harness.ts';

test('every route of the app is an operation of the document, and the other way round', () => {
  const served = new Set(
    createDocsApp(false)
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path}`),
  );
  for (const path of Object.values(docsRoutes)) assert.ok(served.delete(`GET ${path}`), path);
  const told = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  assert.deepEqual([...served].toSorted(), told.toSorted());
});

for (const path of Object.values(docsRoutes)) {
  test(`${path} needs a token`, async () => {
    const answer = await createDocsApp(false).request(path);
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('content-type'), 'application/problem+json');
    assert.equal(((await answer.json()) as { code: string }).code, 'UNAUTHENTICATED');
  });

  test(`${path} needs none where the description is public`, async () => {
    assert.equal((await createDocsApp(true).request(path)).status, 200);
  });
}

test('where the description is public, everything else needs a token all the same', async () => {
  const app = createDocsApp(true);
  const others = [
    ...operations.map(({ method, path }) => [method, path]),
    ['post', '/docs'],
    ['get', '/docs/'],
    ['get', '/docs/a'],
    ['put', '/openapi.json'],
    ['get', '/'],
  ];
  for (const [method = '', path = ''] of others)
    assert.equal((await app.request(path, { method })).status, 401, `${method} ${path}`);
});

test('the document is served to whoever has a token', async t => {
  const { ask } = await makeGateway(t);
  const { status, body } = await ask('GET /openapi.json');
  assert.deepEqual([status, body], [200, openApiDocument('1.2.3')]);
});

test('the page holds the viewer and the document, and loads nothing', async () => {
  const answer = await createDocsApp(true).request(docsRoutes.page);
  const html = await answer.text();
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
  assert.doesNotMatch(html, /<(script|link|img|iframe)\b[^>]*\b(src|href)=/);
  assert.equal(html.match(/<script/g)?.length, 3);
  const [, data = ''] = /<script type="application\/json" id="document">(.*)<\/script>/.exec(html) ?? [];
  assert.deepEqual(JSON.parse(data), openApiDocument('1.2.3'));
});

test("the page's scripts, and no others, may run", async () => {
  const answer = await createDocsApp(true).request(docsRoutes.page);
  const policy = answer.headers.get('content-security-policy') ?? '';
  const scripts = [...(await answer.text()).matchAll(/<script>([^]*?)<\/script>/g)];
  const hashes = scripts.map(([, script = '']) => createHash('sha256').update(script).digest('base64'));
  const allowed = hashes.map(found => `'sha256-${found}'`).join(' ');
  assert.equal(/script-src ([^;]*)/.exec(policy)?.[1], allowed);
  assert.match(policy, /default-src 'none'/);
});

function createDocsApp(isPublic: boolean) {
  const deps = {
    authenticate: async () => {
      throw new Problem('UNAUTHENTICATED', 'there is no bearer token');
    },
    version: '1.2.3',
    log: createMemoryLog().log,
    docs: { isPublic, readViewer },
  };
  // Nothing here comes as far as the services.
  return createApp(deps as unknown as AppDeps);
}
