import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { JWK } from 'jose';
import { backends } from '../../../../gateway/backends/index.ts';
import { openConfiguration } from '../../../../gateway/configuration/configuration.ts';
import { createAuthenticate } from '../../../../gateway/callers/authenticate.ts';
import { createMemoryLog, temporaryDirectory } from '../../../harness/gateway.ts';
import { createSigner } from '../../../harness/gateway/signers.ts';
import { account, makeIssuerKey, signAs, startIssuer, type IssuerKey } from '../../../fakes/issuer.ts';

/** A key, and a function that signs tokens of its holder. */
type Holder = { readonly publicJwk: JWK; token(): Promise<string> };
/** The ways to enrol a caller: a file `keys.json`, or the issuer's published keys; and the resulting identity. */
type Kind = {
  readonly file: (issuer: string) => object;
  readonly holders: (issuer: string) => Promise<readonly [Holder, Holder]>;
  readonly role: string;
  readonly isPublished?: boolean;
};

const keys = 'keys.json';
const spare = { keys: 'spare.json' };
const alice = { sub: 'alice' };
const twoOf = (name: string) => async (): Promise<readonly [Holder, Holder]> => {
  const [one, other] = await Promise.all([createSigner(name), createSigner(name, 'ES256')]);
  return [
    { publicJwk: one.publicJwk, token: one.sign },
    { publicJwk: other.publicJwk, token: other.sign },
  ];
};
const issuerKeys = await Promise.all([makeIssuerKey('one'), makeIssuerKey('two')]);
const twoOfIssuer =
  (claims: object) =>
  async (issuer: string): Promise<readonly [Holder, Holder]> => {
    const holderOf = (key: IssuerKey): Holder => ({
      publicJwk: key.publicJwk,
      token: () => signAs(issuer, key, { ...claims }),
    });
    return [holderOf(issuerKeys[0]), holderOf(issuerKeys[1])];
  };
const kinds: Readonly<Record<string, Kind>> = {
  'a cluster': { file: () => ({ clusters: { a: { keys } } }), holders: twoOf('a'), role: 'controller' },
  'a reader of a cluster': {
    file: () => ({ clusters: { a: { ...spare, readers: keys } } }),
    holders: twoOf('a'),
    role: 'reader',
  },
  'a service account, by a file': {
    file: issuer => ({ clusters: { a: { serviceAccount: { issuer, subject: account, keys } } } }),
    holders: twoOfIssuer({}),
    role: 'controller',
  },
  'a service account, by the keys that its issuer publishes': {
    file: issuer => ({
      clusters: { a: { serviceAccount: { issuer, subject: account, keys: 'discovery' } } },
    }),
    holders: twoOfIssuer({}),
    role: 'controller',
    isPublished: true,
  },
  'an operator': { file: () => ({ operators: { keys } }), holders: twoOf('operators'), role: 'operator' },
  'a reader of operators': {
    file: () => ({ operators: { readers: keys } }),
    holders: twoOf('operators'),
    role: 'reader',
  },
  'an operator of a provider, by a file': {
    file: issuer => ({ operators: { oidc: { issuer, subjects: ['bob', 'alice'], keys } } }),
    holders: twoOfIssuer(alice),
    role: 'operator',
  },
  'an operator of a provider, by the keys that it publishes': {
    file: issuer => ({ operators: { oidc: { issuer, subjects: ['alice'] } } }),
    holders: twoOfIssuer(alice),
    role: 'operator',
    isPublished: true,
  },
};

for (const [name, kind] of Object.entries(kinds))
  test(`a key of ${name} is valid as soon as it is there, and refused within a minute after its removal`, async t => {
    const { roleOf, enrol, holders } = await open(t, kind);
    const [before, after] = holders;
    await enrol(before);
    const token = await before.token();
    assert.equal(await roleOf(token), kind.role);
    await enrol(before, after);
    assert.equal(await roleOf(await after.token()), kind.role);
    assert.equal(await roleOf(token), kind.role);
    await enrol(after);
    t.mock.timers.tick(59_000);
    const refused = { code: 'UNAUTHENTICATED', detail: /"kid"/ };
    await assert.rejects(roleOf(token), refused, 'one that was good');
    await assert.rejects(roleOf(await before.token()), refused, 'a new one');
    assert.equal(await roleOf(await after.token()), kind.role);
  });

/** Opens a gateway's verification of tokens with one such caller. The test controls the time. */
async function open(t: TestContext, kind: Kind) {
  const issuer = await startIssuer(t);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const directory = temporaryDirectory(t);
  let writes = 0;
  const write = (name: string, content: object): void => {
    writeFileSync(join(directory, name), JSON.stringify(content));
    // Each write changes the modification time, however coarse the filesystem's clock is.
    utimesSync(join(directory, name), new Date(), new Date(Date.now() + ++writes * 1_000));
  };
  write(keys, { keys: [] });
  write('spare.json', { keys: [] });
  write('gateway.yaml', { pools: { one: { backend: 'memory' } }, ...kind.file(issuer.url) });
  const { log } = createMemoryLog();
  const served = await openConfiguration(join(directory, 'gateway.yaml'), {
    plugins: backends,
    log,
  });
  t.after(() => served.close());
  const authenticate = createAuthenticate(served.enrolment, 'fairlead');
  return {
    holders: await kind.holders(issuer.url),
    roleOf: async (token: string) => (await authenticate(`Bearer ${token}`)).role,
    async enrol(...holders: readonly Holder[]) {
      const published = holders.map(({ publicJwk }) => publicJwk);
      if (kind.isPublished) {
        issuer.publish(...published);
        t.mock.timers.tick(11_000);
      } else write(keys, { keys: published });
      await served.readAgain();
    },
  };
}
