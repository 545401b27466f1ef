import assert from 'node:assert/strict';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient } from '../../../../src/api/client.ts';
import { readTokenFile } from '../../../../src/api/http/tokens.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { runGateway } from '../../../harness/gateway/program.ts';
import { account, makeIssuerKey, signAs, startIssuer, type TokenChanges } from '../../../fakes/issuer.ts';

const key = await makeIssuerKey('one');
const soon = { everyMs: 50, timeoutMs: 30_000 };
const past = Math.floor(Date.now() / 1_000) - 600;

/** Faults of a token from an account with otherwise valid tokens. */
const faults: readonly TokenChanges[] = [
  {},
  { aud: 'other' },
  { aud: ['fairlead', 'other'] },
  { sub: 'somebody' },
  { iss: 'https://elsewhere.example' },
  { exp: past },
  { nbf: past + 86_400 },
  { header: { kid: 'unknown' } },
  { header: { kid: undefined } },
];

test('no token and no private key appears in a log line, an answer, an error or a metric, with any fault', async t => {
  const { url, metrics, issuer, lines, write, secrets, signer } = await open(t);
  const answers: string[] = [];
  const ask = async (path: string, headers: Readonly<Record<string, string>>): Promise<number> => {
    const answer = await fetch(new URL(path, url), { headers });
    answers.push(`${JSON.stringify([...answer.headers])} ${await answer.text()}`);
    return answer.status;
  };
  const tokens = await Promise.all(faults.map(fault => signAs(issuer.url, key, fault)));
  tokens.push(await signer.sign(), await signer.sign({ aud: 'other' }), await signer.sign({ iss: 'b' }));
  secrets.push(...tokens.flatMap(token => token.split('.').slice(1)));
  for (const token of tokens) {
    await ask('/v1/volumes', { authorization: `Bearer ${token}` });
    await ask('/v1/volumes', { authorization: `Bearer ${token.slice(0, -9)}` });
    await ask('/v1/volumes', { authorization: `Basic ${token}` });
    await ask('/v1/volumes', { authorization: `Bearer ${token} ${token}` });
    await ask(`/v1/volumes?access_token=${token}`, {});
  }
  const [good = ''] = tokens;
  assert.equal(await ask('/v1/volumes', { authorization: `Bearer ${good}` }), 200);

  write('a.jwks.json', { keys: [signer.privateJwk] });
  issuer.publish(key.privateJwk);
  t.mock.timers.tick(60_000);
  const told = (text: string) => () => lines.some(line => line.includes(text)) || undefined;
  assert.ok(await poll(told('is a private or secret key'), soon), lines.join('\n'));
  await ask('/v1/volumes', { authorization: `Bearer ${good}` });
  assert.ok(
    await poll(told('answers with something other than a set of public keys'), soon),
    lines.join('\n'),
  );

  const path = write('token', await signAs(issuer.url, key, { aud: 'other' }));
  secrets.push(...readFileSync(path, 'utf8').split('.').slice(1));
  const client = createClient({ url: url.href, token: readTokenFile(path) });
  t.after(() => client.close());
  const error = await client
    .getCapabilities({}, { deadlineMs: Date.now() + 10_000 })
    .catch((failure: Error) => failure);
  assert.ok(error instanceof Error);
  answers.push(
    `${error.stack} ${String(error.cause)}`,
    await (await fetch(`http://${metrics}/metrics`)).text(),
  );
  for (const written of [...answers, ...lines])
    for (const secret of secrets) assert.ok(!written.includes(secret), written);
});

/** Opens a gateway that logs everything, with one cluster of an own key and one of an issuer with published keys. */
async function open(t: TestContext) {
  const issuer = await startIssuer(t, key.publicJwk);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  let writes = 0;
  const write = (name: string, content: unknown): string => {
    const path = join(directory, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    utimesSync(path, new Date(), new Date(Date.now() + ++writes * 1_000));
    return path;
  };
  const serviceAccount = { issuer: issuer.url, subject: account, keys: 'discovery' };
  const { url, ready, directory, logLines, signers } = await runGateway(t, {
    clusters: { a: {}, b: { serviceAccount } },
    flags: { 'metrics-listen': '127.0.0.1:0' },
  });
  const signer = signers.a;
  const secrets = [signer.privateJwk.d, key.privateJwk.d, key.privateJwk['p'], key.privateJwk['q']].map(
    String,
  );
  return { url: new URL(url), metrics: ready['metrics'], issuer, signer, lines: logLines, write, secrets };
}
