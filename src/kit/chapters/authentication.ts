import { vendorOperations } from '../../api/operations.ts';
import { minTokenLength, type Forgery } from '../http/credentials.ts';
import { sendRequest, type Exchange } from '../http/exchange.ts';
import { expect, skip } from '../finding.ts';
import { problemOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { inputFor } from '../fixtures/requests.ts';
import { must, type Chapter } from '../requirement.ts';

const hourS = 3_600;

/** The requirements of chapter 2. */
export const authentication = {
  'FL-2.1-1': must(
    'A request without credentials is UNAUTHENTICATED, on every operation, and changes nothing.',
  ).check(async kit => {
    await tokenOf(kit);
    const { id: kept } = await kit.createVolume();
    for (const { id, vendor } of vendorOperations)
      if (vendor === 'required' || (vendor && kit.has(vendor)))
        requireRefused(await kit.call(id, inputFor(kit, id), { authorization: '' }));
    requireRefused(await kit.call('deleteVolume', { volumeId: kept }, { authorization: '' }));
    await kit.done('getVolume', { volumeId: kept });
    const volumeId = kit.id();
    const input = { volumeId, body: kit.specOf(volumeId) };
    requireRefused(await kit.call('createVolume', input, { authorization: '' }));
    await kit.expectNoVolume(volumeId);
  }),
  'FL-2.1-2': must('Malformed credentials, or credentials of another scheme, are UNAUTHENTICATED.').check(
    async kit => {
      const token = await tokenOf(kit);
      const basic = Buffer.from('user:password').toString('base64');
      const wrong = [
        `Basic ${basic}`,
        'Bearer',
        'Bearer x',
        `Bearer ${token}x`,
        `Bearer ${token.slice(0, -4)}`,
        token,
      ];
      for (const authorization of wrong) requireRefused(await kit.call('listVolumes', {}, { authorization }));
    },
  ),
  'FL-2.1-3': must('A token that the key named by its `kid` has not signed is UNAUTHENTICATED.').check(
    async kit => {
      const forge = forgeOf(kit);
      await refuseToken(kit, await forge({ hasUnknownKey: true }));
      const [head, , signature] = (await forge({})).split('.');
      const [, claims] = (await forge({ claims: { jti: 'another' } })).split('.');
      await refuseToken(kit, `${head}.${claims}.${signature}`);
    },
  ),
  'FL-2.1-4': must('A token with `alg` `none`, or without a signature, is UNAUTHENTICATED.').check(
    async kit => {
      const forge = forgeOf(kit);
      await refuseToken(kit, await forge({ isUnsigned: true }));
      await refuseToken(kit, (await forge({})).replace(/[^.]*$/, ''));
    },
  ),
  'FL-2.1-5': must('A token that has expired is UNAUTHENTICATED.').check(async kit => {
    const nowS = Math.floor(Date.now() / 1_000);
    const iat = nowS - 2 * hourS;
    for (const exp of [nowS - hourS, nowS - 5 * 60]) await refuseClaims(kit, { iat, exp });
  }),
  'FL-2.1-6': must('A token for another audience is UNAUTHENTICATED.').check(async kit => {
    for (const aud of ['https://another.example', ['https://another.example'], undefined])
      await refuseClaims(kit, { aud });
  }),
  'FL-2.1-7': must('A token without `exp` is UNAUTHENTICATED.').check(kit =>
    refuseClaims(kit, { exp: undefined }),
  ),
  'FL-2.1-8': must('No answer repeats the credentials of the request.').check(async kit => {
    const token = await tokenOf(kit);
    if (token.length < minTokenLength)
      throw skip(
        `the token is shorter than ${minTokenLength} characters, so an answer may contain it by chance`,
      );
    await kit.settle('getVolume', { volumeId: kit.id() });
    await kit.call('getVolume', { volumeId: kit.id() }, { authorization: `Bearer ${token}x` });
    await kit.createVolume();
    for (const exchange of kit.trail) {
      const { text = '', headers = {} } = exchange.answer ?? {};
      const isRepeated = `${text}${JSON.stringify(headers)}`.includes(token);
      expect(!isRepeated, 'the answer does not repeat the token', exchange);
    }
  }),
  'FL-2.2-1': must('With mutual TLS, a connection without a trusted client certificate is refused.').check(
    async kit => {
      const { url, tls } = kit.target;
      if (!tls?.cert) throw skip('--tls-cert-file is not given, so the kit has no client certificate');
      const { cert: _, key: _key, ...trusted } = tls;
      const request = await kit.toRawRequest('listVolumes', {});
      const sendOptions = { timeoutMs: kit.timeoutMs, signal: kit.signal };
      const exchange = await sendRequest({ url, tls: trusted }, request, sendOptions);
      const isRefused = !exchange.answer || exchange.answer.status >= 400;
      expect(isRefused, 'a connection without a certificate is refused', exchange);
    },
  ),
} satisfies Chapter;

async function tokenOf({ credentials }: Kit): Promise<string> {
  const header = await credentials.header();
  if (header === undefined) throw skip('no token is given: certificates, or nothing, authenticate the kit');
  return header.replace(/^Bearer /, '');
}

function forgeOf({ credentials: { forge } }: Kit): (changes: Forgery) => Promise<string> {
  if (!forge) throw skip('--key-file is not given, so the kit cannot sign tokens');
  return forge;
}

async function refuseClaims(kit: Kit, claims: Forgery['claims'] & object): Promise<void> {
  await refuseToken(kit, await forgeOf(kit)({ claims }));
}

async function refuseToken(kit: Kit, token: string): Promise<void> {
  requireRefused(await kit.call('listVolumes', {}, { authorization: `Bearer ${token}` }));
}

function requireRefused(exchange: Exchange): void {
  const isRefused = exchange.answer?.status === 401 && problemOf(exchange).code === 'UNAUTHENTICATED';
  expect(isRefused, '401 with a problem document whose code is UNAUTHENTICATED', exchange);
}
