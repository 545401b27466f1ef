import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxBodyBytes } from '../../../../src/api/operations.ts';
import { assertProblem, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';

/** Makes JSON that no JavaScript object can produce. */
function bodyWith(member: string): string {
  return JSON.stringify(volumeSpec('x')).replace(/}$/, `,${member}}`);
}

const volume = 'PUT /v1/volumes/a.x';
const attach = 'PUT /v1/volumes/a.x/attachments/n1';
const asked = { ...volumeSpec('x') };
const badInput: readonly (readonly [route: string, body: unknown, says: RegExp])[] = [
  [volume, 'not json', /^body: not JSON$/],
  [volume, '', /^body: not JSON$/],
  [volume, [], /^body: must be an object with members, but is a list$/],
  [volume, { ...asked, name: undefined }, /^body.name: is missing; give text/],
  [volume, { ...asked, name: 'x'.repeat(129) }, /^body.name: must have at most 128 bytes/],
  [volume, { ...asked, requiredBytes: -1 }, /^body.requiredBytes: /],
  [volume, { ...asked, requiredBytes: 1.5 }, /^body.requiredBytes: /],
  [volume, { ...asked, limitBytes: 2 ** 60 }, /^body.limitBytes: /],
  [volume, { ...asked, capabilities: [] }, /^body.capabilities: /],
  [volume, { ...asked, capabilities: [{ ...mounted, accessType: 'nfs' }] }, /capabilities.0.accessType: /],
  [volume, { ...asked, size: 1 }, /^body\.size: is not known$/],
  [volume, { ...asked, parameters: { k: 'x'.repeat(4_096) } }, /^body.parameters: must have at most 4096/],
  [volume, { ...asked, parameters: { k: 'v' } }, /^parameters\.k: is not known$/],
  [
    volume,
    bodyWith('"parameters":{"__proto__":"x"}'),
    /^body: the key "__proto__" is not allowed; remove it$/,
  ],
  [
    volume,
    bodyWith('"topology":{"requisite":[{"\\u005f_proto__":"x"}]}'),
    /"__proto__" is not allowed; remove it$/,
  ],
  [volume, bodyWith('"fsType":"\\ud800"'), /^body: a text has a NUL or half of a surrogate pair; remove it$/],
  [volume, bodyWith('"parameters":{"\\udfff":"x"}'), /half of a surrogate pair; remove it$/],
  [volume, bodyWith('"parameters":{"k":"a\\u0000"}'), /NUL/],
  [volume, { ...asked, name: 'a\0' }, /NUL/],
  [volume, { ...asked, name: 'a\x7f' }, /^body.name: has control characters$/],
  [volume, { ...asked, name: 'a\x85' }, /^body.name: has control characters$/],
  [volume, new Blob([Buffer.from(JSON.stringify(volumeSpec('é')), 'latin1')]), /^body: not UTF-8$/],
  ['PUT /v1/nodes/n%FF', {}, /^the URL is not percent-encoded UTF-8$/],
  ['PUT /v1/nodes/n%C3', {}, /not percent-encoded UTF-8$/],
  ['DELETE /v1/nodes/n%ED%A0%80', undefined, /not percent-encoded UTF-8$/],
  ['GET /v1/volumes?pageToken=%FF', undefined, /not percent-encoded UTF-8$/],
  ['PUT /v1/volumes/nodot', asked, /^"nodot" is not a volume id such as "a.name"$/],
  ['PUT /v1/volumes/a.x%2F..%2Fy', asked, /is not a volume id/],
  [attach, { readonly: false }, /^body.capability: /],
  [attach, { capability: mounted, readonly: 'no' }, /^body.readonly: /],
  ['PUT /v1/nodes/n1', { maxVolumes: 0 }, /^body.maxVolumes: /],
  ['PUT /v1/nodes/n1', { topology: { zone: 1 } }, /^body.topology.zone: /],
  ['PUT /v1/nodes/n%0A1', {}, /^the node id "n 1" must have 1 to 256 bytes and no control characters$/],
  ['POST /v1/capacity', { capabilities: [{}] }, /^body.capabilities.0.accessType: /],
  ['POST /v1/capacity', { parameters: { k: 'v' } }, /^parameters\.k: is not known$/],
  ['POST /v1/volumes/a.x/validate', {}, /^body.capabilities: /],
  ['PUT /v1/volumes/a.x/size', { requiredBytes: '1' }, /^body.requiredBytes: /],
  ['PUT /v1/volumes/a.x/size', { bytes: 1 }, /^body\.bytes: is not known$/],
  ['PUT /v1/volumes/a.x/parameters', {}, /^body.mutableParameters: /],
  ['PUT /v1/volumes/a.x/parameters', { mutableParameters: { tier: 1 } }, /^body.mutableParameters.tier: /],
  [volume, { ...asked, topology: { requisite: [{ 'a b': 'x' }] } }, /^body\.topology\.requisite\.0/],
  [volume, { ...asked, topology: { requisite: [{ z: 'a', Z: 'a' }] } }, /differ only in case/],
  [volume, { ...asked, topology: { preferred: [{ z: 'a b' }] } }, /^body\.topology\.preferred\.0\.z/],
  [volume, { ...asked, topology: { wanted: [] } }, /^body\.topology\.wanted: is not known/],
  [
    volume,
    { ...asked, topology: { requisite: [{ z: 'a' }], preferred: [{ z: 'b' }] } },
    /topology\.preferred/,
  ],
  ['PUT /v1/snapshots/a.s', { name: 's' }, /^body.volumeId: /],
  ['PUT /v1/snapshots/a.s', { volumeId: 'a.x' }, /^body.name: /],
  ['PUT /v1/snapshots/s', { name: 's', volumeId: 'a.x' }, /is not a snapshot id/],
  ['PUT /v1/groups/a.g', { name: 'g', volumeIds: [] }, /^body.volumeIds: /],
  ['PUT /v1/groups/a.g', { name: 'g', volumeIds: ['a.x', 'a.x'] }, /must name each volume once/],
  ['GET /v1/snapshots/a.s/blocks?offset=1.5', undefined, /^query.offset: /],
  ['GET /v1/snapshots/a.s/blocks?limit=x', undefined, /^query.limit: /],
  ['GET /v1/volumes?limit=-1', undefined, /^query.limit: /],
  ['DELETE /v1/volumes/a.x/grants/b%00', undefined, /^path: /],
  ['GET /v1/snapshots?volumeId=a.%00', undefined, /^query: "volumeId" has a NUL; remove it$/],
  ['GET /v1/volumes?limit=1&limit=1', undefined, /^query: "limit" is given 2 times; give it once$/],
  [
    'GET /v1/volumes?pageToken=&p%61geToken=a',
    undefined,
    /^query: "pageToken" is given 2 times; give it once$/,
  ],
  ...['ten', '', '1e3', '0x10', ' 1', '1.0'].map(
    text => [`GET /v1/volumes?limit=${encodeURIComponent(text)}`, undefined, /^query.limit: /] as const,
  ),
];
for (const [route, body, says] of badInput) {
  test(`${route} with ${JSON.stringify(body)?.slice(0, 60)} is INVALID_ARGUMENT and says where`, async t => {
    const { ask, backend } = await openGateway(t);
    const answer = await ask(route, { body });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(String(answer.body['detail']), says);
    assert.deepEqual(backend.calls, []);
  });
}

const operators: readonly string[] = [
  'PUT /v1/admin/deleted-volumes/a.%00/restore',
  'DELETE /v1/admin/volumes/a.%00/grants/b',
  'GET /v1/admin/audit-log?resource=%00',
  'GET /v1/admin/deleted-volumes?pageToken=%00',
];
for (const route of operators)
  test(`${route} is INVALID_ARGUMENT, and does not make the log unreadable`, async t => {
    const { ask } = await openGateway(t);
    assertProblem(await ask(route, { as: 'operator' }), 400, 'INVALID_ARGUMENT');
    const log = await ask('GET /v1/admin/audit-log', { as: 'operator' });
    assert.deepEqual([log.status, log.body], [200, { entries: [] }]);
  });

test("a name like a prototype's property is only a value", async t => {
  const { ask } = await openGateway(t);
  const answer = await ask('PUT /v1/volumes/a.x', { body: volumeSpec('__proto__') });
  assert.equal(answer.status, 201);
  assert.equal(answer.body['name'], '__proto__');
});

test('a body that is too long is refused, with or without a given length', async t => {
  const { ask } = await openGateway(t);
  const body = JSON.stringify({ name: 'x'.repeat(maxBodyBytes) });
  for (const headers of [{ 'content-length': String(body.length) }, {}] as Record<string, string>[]) {
    const answer = await ask('PUT /v1/volumes/a.x', { body, headers });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(String(answer.body['detail']), /^body: longer than the \d+ bytes allowed$/);
  }
});

test('a page token that no list of this cluster issued is ABORTED', async t => {
  const { ask } = await openGateway(t);
  for (const list of ['volumes', 'health/volumes', 'snapshots']) {
    const ofAnother = list === 'snapshots' ? 'volumes/a:a.pvc-1' : 'snapshots:a.pvc-1';
    for (const token of [
      'x',
      '%%%',
      `${list}:b.pvc-1`,
      'health:b.pvc-1',
      'volumes:',
      'volumes/b:b.pvc-1',
      'ä',
      ofAnother,
    ]) {
      const answer = await ask(`GET /v1/${list}?pageToken=${encodeURIComponent(token)}`);
      assertProblem(answer, 409, 'ABORTED');
    }
  }
});
