import assert from 'node:assert/strict';
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { openGatewayKeys } from '../../../../node-agent/state/gateway-keys.ts';
import { signedText } from '../../../../src/api/attachment.ts';
import { createFakeHost } from '../../../fakes/host.ts';

const path = '/state/gateway.jwks.json';
const expected = { volumeId: 'a.pvc-1', nodeId: 'n1' };
const header = { alg: 'ES256', kid: 'k', volume: 'a.pvc-1', node: 'n1' };
const context = { protocol: 'nfs', attachmentId: 'at1' };

/** Makes a P-256 key, and a function that verifies signatures with the keys of a file. */
function open() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const host = createFakeHost();
  return {
    jwk: { ...publicKey.export({ format: 'jwk' }), kid: 'k' },
    prove: async (keys: readonly unknown[], changed: object = {}) => {
      host.state.paths.set(path, 'file');
      host.state.texts.set(path, JSON.stringify({ keys }));
      const proved = await openGatewayKeys({ path, newestPath: '/state/newest' }, host);
      await proved.requireSigned(signedBy(privateKey, { ...header, ...changed }), expected);
    },
  };
}

function signedBy(key: KeyObject, members: object) {
  const head = encode(JSON.stringify(members));
  const bytes = Buffer.from(`${head}.${encode(signedText(context))}`);
  const signature = sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  return { ...context, signature: `${head}..${signature}` };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}

test('a P-256 key verifies an ES256 signature, even beside other keys in the file', async () => {
  const { jwk, prove } = open();
  const other = open().jwk;
  await prove([{ kty: 'RSA', kid: 'k' }, null, other, jwk]);
  await prove([{ ...jwk, alg: 'ES256', use: 'sig' }]);
});

const refused = { code: 'FAILED_PRECONDITION' };

for (const changed of [
  { alg: 'EdDSA' },
  { alg: 'none' },
  { alg: undefined },
  { kid: 'l' },
  { kid: undefined },
  { crit: ['b64'] },
])
  test(`a signature with the header ${JSON.stringify(changed)} is refused`, async () => {
    const { jwk, prove } = open();
    await assert.rejects(prove([jwk], changed), refused);
  });

for (const changed of [{ alg: 'ES512' }, { use: 'enc' }, { x: 'AAAA' }, { crv: 'Ed25519' }, { kty: 'oct' }])
  test(`a key with ${JSON.stringify(changed)} in the file verifies nothing`, async () => {
    const { jwk, prove } = open();
    await assert.rejects(prove([{ ...jwk, ...changed }]), refused);
  });
