import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxBodyBytes } from '../../../../src/api/operations.ts';
import { createFaultyBackend } from '../faulty-backend.ts';
import {
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';

const attachmentSpec = { capability: mounted, readonly: false };

/** JSON that no object can be written as. */
function bodyWith(member: string): string {
  return JSON.stringify(volumeSpec('x')).replace(/}$/, `,${member}}`);
}

const badInput = [
  { route: 'PUT /v1/volumes/a.x', body: 'not json', says: /^body: not JSON$/ },
  { route: 'PUT /v1/volumes/a.x', body: '', says: /^body: not JSON$/ },
  { route: 'PUT /v1/volumes/a.x', body: [], says: /^body: expected object, received array$/ },
  {
    route: 'PUT /v1/volumes/a.x',
    body: { ...volumeSpec('x'), name: undefined },
    says: /^body.name: expected string/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x'.repeat(129)),
    says: /^body.name: must have at most 128 bytes/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { requiredBytes: -1 }),
    says: /^body.requiredBytes: /,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { requiredBytes: 1.5 }),
    says: /^body.requiredBytes: /,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { limitBytes: 2 ** 60 }),
    says: /^body.limitBytes: /,
  },
  { route: 'PUT /v1/volumes/a.x', body: volumeSpec('x', { capabilities: [] }), says: /^body.capabilities: / },
  {
    route: 'PUT /v1/volumes/a.x',
    body: { ...volumeSpec('x'), capabilities: [{ accessType: 'nfs', accessMode: mounted.accessMode }] },
    says: /^body.capabilities.0.accessType: /,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: { ...volumeSpec('x'), size: 1 },
    says: /^body: "size" is not known$/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { parameters: { k: 'x'.repeat(4_096) } }),
    says: /^body.parameters: must have at most 4096 bytes$/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: volumeSpec('x', { parameters: { k: 'v' } }),
    says: /^parameters: "k" is not known$/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: bodyWith('"parameters":{"__proto__":"x"}'),
    says: /^body: "__proto__" is not known$/,
  },
  {
    route: 'PUT /v1/volumes/a.x',
    body: bodyWith('"topology":{"requisite":[{"\\u005f_proto__":"x"}]}'),
    says: /^body: "__proto__" is not known$/,
  },
  {
    route: 'PUT /v1/volumes/nodot',
    body: volumeSpec('x'),
    says: /^"nodot" is not a volume id such as "a.name"$/,
  },
  { route: 'PUT /v1/volumes/a.x%2F..%2Fy', body: volumeSpec('x'), says: /is not a volume id/ },
  { route: 'PUT /v1/volumes/a.x/attachments/n1', body: { readonly: false }, says: /^body.capability: / },
  {
    route: 'PUT /v1/volumes/a.x/attachments/n1',
    body: { ...attachmentSpec, readonly: 'no' },
    says: /^body.readonly: /,
  },
  { route: 'PUT /v1/nodes/n1', body: { maxVolumes: 0 }, says: /^body.maxVolumes: / },
  { route: 'PUT /v1/nodes/n1', body: { topology: { zone: 1 } }, says: /^body.topology.zone: / },
  {
    route: 'PUT /v1/nodes/n%0A1',
    body: {},
    says: /^a node id has 1 to 256 bytes and no control characters$/,
  },
  { route: 'POST /v1/capacity', body: { capabilities: [{}] }, says: /^body.capabilities.0.accessType: / },
  { route: 'POST /v1/capacity', body: { parameters: { k: 'v' } }, says: /^parameters: "k" is not known$/ },
  { route: 'POST /v1/volumes/a.x/validate', body: {}, says: /^body.capabilities: / },
  { route: 'GET /v1/volumes?limit=-1', says: /^query.limit: / },
  { route: 'GET /v1/volumes?limit=ten', says: /^query.limit: / },
];
for (const { route, body, says } of badInput) {
  test(`${route} with ${JSON.stringify(body)?.slice(0, 60)} is INVALID_ARGUMENT and says where`, async t => {
    const backend = createFaultyBackend(await openMemory());
    const { ask } = await makeGateway(t, { backend });
    const answer = await ask(route, { body });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(String(answer.body['detail']), says);
    assert.deepEqual(backend.calls, []);
  });
}

test('what is called like the way to a prototype is only a value', async t => {
  const { ask } = await makeGateway(t);
  const answer = await ask('PUT /v1/volumes/a.x', { body: volumeSpec('__proto__') });
  assert.equal(answer.status, 201);
  assert.equal(answer.body['name'], '__proto__');
});

test('a body that is too long is refused, whether its length is told or not', async t => {
  const { ask } = await makeGateway(t);
  const body = JSON.stringify({ name: 'x'.repeat(maxBodyBytes) });
  for (const headers of [{ 'content-length': String(body.length) }, {}] as Record<string, string>[]) {
    const answer = await ask('PUT /v1/volumes/a.x', { body, headers });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(String(answer.body['detail']), /^body: more than \d+ bytes$/);
  }
});

const badTokens = ['x', '%%%', btoa('1:b.pvc-1'), btoa('2:a.pvc-1'), btoa('1:'), 'ä'];
for (const token of badTokens) {
  test(`the page token ${token} is ABORTED`, async t => {
    const { ask } = await makeGateway(t);
    const answer = await ask(`GET /v1/volumes?pageToken=${encodeURIComponent(token)}`);
    assertProblem(answer, 409, 'ABORTED');
  });
}
