import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createLocalJWKSet } from 'jose';
import type { Enrolment } from '../../../../gateway/callers/authenticate.ts';
import { createSessions } from '../../../../gateway/console/sessions.ts';
import { enrol, openGateway } from '../../../harness/gateway.ts';
import { createGatewayKey, signCode } from '../../../harness/gateway/console.ts';
import { createSigner, signerOf, type Signer } from '../../../harness/gateway/signers.ts';

async function openSessions(t: TestContext, enrolment: Enrolment) {
  const { engine } = await openGateway(t);
  const identity = createGatewayKey(t);
  const current = { enrolment };
  const sessions = createSessions({
    engine,
    identity,
    enrolment: () => current.enrolment,
    audience: 'fairlead',
  });
  return { sessions, current };
}

test('a session ends once its key is no longer enrolled', async t => {
  const operator = await signerOf('operator');
  const { sessions, current } = await openSessions(t, await enrol({ operator }));
  const { token } = await sessions.openWithCode(await signCode('operator'));
  assert.equal((await sessions.find(token)).role, 'operator');
  current.enrolment = await enrol({ a: await signerOf('a') });
  await assert.rejects(sessions.find(token), { code: 'UNAUTHENTICATED', detail: /no longer enrolled/ });
});

test('a session ends once another key has the name of its key', async t => {
  const operator = await signerOf('operator');
  const { sessions, current } = await openSessions(t, await enrol({ operator }));
  const { token } = await sessions.openWithCode(await signCode('operator'));
  current.enrolment = await enrol({ operator: await createSigner('operator') });
  await assert.rejects(sessions.find(token), { code: 'UNAUTHENTICATED' });
});

test('a session gets the present rights of its key', async t => {
  const operator = await signerOf('operator');
  const { sessions, current } = await openSessions(t, await enrol({ operator }));
  const { token } = await sessions.openWithCode(await signCode('operator'));
  current.enrolment = await enrol({ 'reader of operators': operator });
  assert.equal((await sessions.find(token)).role, 'reader');
  current.enrolment = await enrol({ a: operator });
  await assert.rejects(sessions.find(token), { code: 'UNAUTHENTICATED' });
});

test('an operator of a trusted issuer has a session while the issuer and the subject are trusted', async t => {
  const signer = await createSigner('https://login.example', 'ES256');
  const { sessions, current } = await openSessions(t, trusting(signer, ['ann']));
  const token = await signer.sign({ sub: 'ann', aud: 'fairlead' });
  const session = await sessions.openWithToken(token);
  assert.deepEqual(await sessions.find(session.token), { role: 'operator', subject: 'ann' });
  current.enrolment = trusting(signer, ['bob']);
  await assert.rejects(sessions.find(session.token), { code: 'UNAUTHENTICATED' });
});

test('a token of a trusted issuer is no code, however much it looks like one', async t => {
  const signer = await createSigner('https://login.example', 'ES256');
  const { sessions } = await openSessions(t, trusting(signer, ['ann']));
  const nowS = Math.floor(Date.now() / 1_000);
  const times = { iat: nowS, exp: nowS + 300, jti: crypto.randomUUID() };
  const token = await signer.sign({ sub: 'ann', aud: 'fairlead/console', ...times });
  await assert.rejects(sessions.openWithCode(token), {
    code: 'UNAUTHENTICATED',
    detail: /not one of "fairlead console"/,
  });
});

test('the session of an issuer is not bound to a key that has the name of its subject', async t => {
  const signer = await createSigner('https://login.example', 'ES256');
  const operator = await signerOf('operator');
  const keys = await enrol({ operator });
  const both = (subjects: readonly string[]) => ({ ...keys, trusted: trusting(signer, subjects).trusted });
  const { sessions, current } = await openSessions(t, both([operator.kid]));
  const token = await signer.sign({ sub: operator.kid, aud: 'fairlead' });
  const session = await sessions.openWithToken(token);
  assert.equal((await sessions.find(session.token)).role, 'operator');
  current.enrolment = both([]);
  await assert.rejects(sessions.find(session.token), { code: 'UNAUTHENTICATED' });
});

function trusting(signer: Signer, subjects: readonly string[]): Enrolment {
  const keys = createLocalJWKSet({ keys: [signer.publicJwk] });
  const issuer = 'https://login.example';
  const trusted = new Map([[issuer, [{ caller: { role: 'operator' }, issuer, subjects, keys } as const]]]);
  return { keySet: createLocalJWKSet({ keys: [] }), owners: new Map(), trusted };
}
