import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  createAuthenticate,
  createVendor,
  sizeFor,
  toPage,
  type Offer,
  type VendorOperations,
} from '../../../src/sdk/server/vendor.ts';
import { importKey, createKey, publicHalf, sign } from '../../../src/api/http/jwt.ts';

const none = { type: 'object', additionalProperties: false };
const offer: Offer = {
  version: '1',
  features: ['restore'],
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount'],
  parameters: { volume: { ...none, properties: { tier: { enum: ['fast'] } }, required: ['tier'] } },
};
const mounted = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };
const good = { name: 'pvc-1', capabilities: [mounted], parameters: { tier: 'fast' } };
const path = '/v1/volumes/east.pvc-1';

/** Sends a request to a vendor with these operations; returns the answer's status, code and detail. */
async function ask(operations: VendorOperations, request: string, body?: unknown): Promise<string> {
  const [method = '', url = ''] = request.split(' ');
  const app = createVendor({ capabilities: offer, operations, authenticate: async () => {} });
  const answered = await app.request(url, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const { code, detail } = (await answered.json()) as { readonly code?: string; readonly detail?: string };
  return [answered.status, code, detail].filter(Boolean).join(' ');
}

/** Makes operations that no request may reach. */
function refusing(t: TestContext): VendorOperations {
  const reached = t.mock.fn(() => [204] as const);
  t.after(() => assert.equal(reached.mock.callCount(), 0));
  return { createVolume: reached as never, getVolume: reached as never, listVolumes: reached as never };
}

async function fail(): Promise<never> {
  throw new Error('the password is wrong');
}

for (const [what, body] of Object.entries({
  'an access mode': { ...good, capabilities: [{ ...mounted, accessMode: 'MULTI_NODE_MULTI_WRITER' }] },
  'an access type': { ...good, capabilities: [mounted, { ...mounted, accessType: 'block' }] },
  'a parameter': { ...good, parameters: { tier: 'slow' } },
  'a volume without a parameter': { ...good, parameters: undefined },
  'a mutable parameter': { ...good, mutableParameters: { label: 'a' } },
  'a source': { ...good, source: { kind: 'volume', volumeId: 'east.pvc-0' } },
  'a member that the contract does not have': { ...good, capacity: 1 },
}))
  test(`${what} that is not offered reaches no operation`, async t => {
    assert.match(await ask(refusing(t), `PUT ${path}`, body), /^400 INVALID_ARGUMENT /);
  });

for (const [what, request] of Object.entries({
  'an id that is a path': 'GET /v1/volumes/..%2Feast.pvc-1',
  'an id that is too long': `GET /v1/volumes/${'a'.repeat(129)}`,
  'an id that is not encoded': 'GET /v1/volumes/%ff',
  'a limit that is none': 'GET /v1/volumes?limit=many',
  'a limit that is there twice': 'GET /v1/volumes?limit=1&limit=2',
}))
  test(`${what} reaches no operation`, async t => {
    assert.match(await ask(refusing(t), request), /^400 INVALID_ARGUMENT /);
  });

test('the capabilities are the ones given to the vendor', async () => {
  const app = createVendor({ capabilities: offer, operations: {}, authenticate: async () => {} });
  assert.deepEqual(await (await app.request('/v1/capabilities')).json(), offer);
});

test('a missing operation is UNIMPLEMENTED, and an unknown path NOT_FOUND', async () => {
  assert.match(await ask({}, `PUT ${path}/size`, {}), /^501 UNIMPLEMENTED /);
  assert.match(await ask({}, `PATCH ${path}`), /^404 NOT_FOUND /);
});

test('after an unexpected error the work may still be running, and only the log has the error', async t => {
  const written = t.mock.method(process.stderr, 'write', () => true);
  const answered = await ask({ getVolume: fail }, `GET ${path}`);
  assert.match(answered, /^503 UNAVAILABLE /);
  assert.doesNotMatch(answered, /password/);
  assert.match(String(written.mock.calls[0]?.arguments[0]), /password/);
});

test('a wrong token is refused, and without a token nothing is served', async () => {
  const authenticate = createAuthenticate({ token: 'first' });
  await authenticate('Bearer first');
  for (const header of [undefined, 'Bearer second', 'Bearer ', 'Basic first'])
    await assert.rejects(authenticate(header), { code: 'UNAUTHENTICATED' }, header);
  assert.throws(() => createAuthenticate({ jwks: 'https://gateway.example/keys' }), /set TOKEN, or JWKS/);
  assert.throws(() => createAuthenticate({ token: 'first second' }), /has spaces/);
});

test("the gateway's token is valid if clocks differ by a minute, and a refusal has the difference", async t => {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-vendor-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const jwk = await createKey('k');
  const jwks = join(dir, 'jwks.json');
  writeFileSync(jwks, JSON.stringify({ keys: [publicHalf(jwk)] }));
  const authenticate = createAuthenticate({ jwks, audience: 'pool' });
  const signing = await importKey(jwk);
  const call = async (aheadS: number, key = signing) => {
    const iat = Math.floor(Date.now() / 1_000) + aheadS;
    const claims = { iss: 'hq', aud: 'pool', iat, nbf: iat, exp: iat + 300 };
    return authenticate(`Bearer ${await sign(key, claims)}`);
  };
  for (const aheadS of [0, 58, -58, -358]) await call(aheadS);
  await assert.rejects(call(90), {
    code: 'UNAUTHENTICATED',
    detail: /issued (8\d|90) s in the future.*60 s/,
  });
  await assert.rejects(call(-400), { code: 'UNAUTHENTICATED', detail: /expired \("exp"\) 10\d s ago/ });
  const stranger = await importKey(await createKey('k'));
  await assert.rejects(call(90, stranger), {
    code: 'UNAUTHENTICATED',
    detail: /^the bearer token is missing or not valid$/,
  });
});

test('a page begins after the last id of the previous one, even if that is gone', () => {
  const all = ['a', 'b', 'c'].map(id => ({ id }));
  assert.deepEqual(toPage(all, { limit: 2 }), {
    entries: [{ id: 'a' }, { id: 'b' }],
    nextPageToken: 'after:b',
  });
  assert.deepEqual(toPage([{ id: 'c' }], { limit: 2, pageToken: 'after:b' }), { entries: [{ id: 'c' }] });
  assert.throws(() => toPage(all, { limit: 2, pageToken: 'b' }), { code: 'ABORTED' });
});

test("a size is the smallest within the bounds and the limits, and not below the source's", () => {
  const limits = { minimumVolumeBytes: 8, maximumVolumeBytes: 64, stepBytes: 8 };
  assert.equal(sizeFor({ requiredBytes: 9 }, limits), 16);
  assert.equal(sizeFor({}, limits), 64);
  assert.equal(sizeFor({ limitBytes: 30 }, limits), 24);
  assert.equal(sizeFor({}, limits, 20), 24);
  for (const [asked, leastBytes] of [
    [{ requiredBytes: 65 }, 0],
    [{ requiredBytes: 9, limitBytes: 15 }, 0],
    [{ requiredBytes: 8 }, 16],
    [{ limitBytes: 8 }, 16],
  ] as const)
    assert.throws(() => sizeFor(asked, limits, leastBytes), { code: 'OUT_OF_RANGE' });
});
