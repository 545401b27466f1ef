import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient } from '../../../../src/api/client.ts';
import type { Problem } from '../../../../src/api/problem.ts';
import { readTokenFile } from '../../../../src/api/http/tokens.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { runGateway } from '../../../harness/gateway/program.ts';
import { json, startStorageApi } from '../../../fakes/storage-api.ts';
import { account, makeIssuerKey, signAs, type TokenChanges } from '../../../fakes/issuer.ts';
import { offered, runController } from '../../../harness/controller.ts';
import { temporaryFile } from '../../../harness/temporary.ts';

const issuer = 'https://kubernetes.default.svc.cluster.local';
const key = await makeIssuerKey('one');

test("a controller with its service account's token works at a gateway without a key of it", async t => {
  const { url, project } = await serveAccount(t);
  const tokenFile = await project();
  const given = { gateway: url, cluster: 'east', 'token-file': tokenFile };
  const { csi, untilReady, logLines } = await runController(t, given);
  await untilReady();
  const mode = { mode: 'SINGLE_NODE_WRITER' as const };
  const create = { name: 'pvc-1', volume_capabilities: [{ mount: {}, access_mode: mode }] };
  const { volume } = await csi.controller.CreateVolume(create);
  assert.equal(volume?.volume_id, 'east.pvc-1');
  assert.ok(!logLines.some(line => line.includes(readFileSync(tokenFile, 'utf8').split('.')[2] ?? '')));
});

test('a refused token is read again, once and silently, as kubelet renews it', async t => {
  const { client, project } = await serveAccount(t);
  await project({ exp: Math.floor(Date.now() / 1_000) - 60 });
  const { ask } = client();
  await assert.rejects(ask(), { code: 'UNAVAILABLE', detail: /does not accept the token: .*"exp"/ });
  await project();
  assert.equal((await ask()).version.length > 0, true);
});

const refused: readonly (readonly [name: string, claims: TokenChanges, says: RegExp])[] = [
  ['another audience', { aud: ['vault'] }, /the token's "aud" is not accepted$/],
  ['another account', { sub: `${account}-2` }, /the token's "sub" is not accepted$/],
  ['another issuer', { iss: `${issuer}/` }, /its "iss" is not the name of a configured issuer$/],
];
for (const [name, claims, says] of refused)
  test(`a token of ${name} is refused after one more read, and the message names the claim and shows no token`, async t => {
    const { client, project } = await serveAccount(t);
    const token = readFileSync(await project(claims), 'utf8');
    const { ask, reads } = client();
    await assert.rejects(ask(), (error: Problem) => {
      assert.equal(error.code, 'UNAVAILABLE');
      assert.match(error.detail, says);
      assert.ok(!token.split('.').some(part => `${error.stack} ${String(error.cause)}`.includes(part)));
      return true;
    });
    assert.deepEqual(reads, [false, true]);
  });

test('each request has the current token of the file, even through a link that is swapped', async t => {
  const api = await startStorageApi(t, [json(200, offered)]);
  const { project } = projection(t);
  const source = readTokenFile(await project({ jti: 'first' }));
  const client = createClient({ url: api.url, token: source });
  t.after(() => client.close());
  const ask = () => client.getCapabilities({}, { deadlineMs: Date.now() + 10_000 });
  await ask();
  const next = readFileSync(await project({ jti: 'second' }), 'utf8');
  const sent = async () => {
    await ask();
    return api.received.at(-1)?.headers.authorization === `Bearer ${next}` || undefined;
  };
  assert.ok(await poll(sent, { everyMs: 50, timeoutMs: 20_000 }));
});

for (const [name, content] of [
  ['nothing', ''],
  ['two lines', 'a\nb'],
  ['an object without a token', '{"token": "canary-secret"}'],
] as const)
  test(`a token file with ${name} is UNAVAILABLE, and the error shows none of its content`, async t => {
    const path = temporaryFile(t, content);
    const readToken = async () => readTokenFile(path)(false);
    await assert.rejects(readToken(), (error: Problem) => {
      assert.equal(error.code, 'UNAVAILABLE');
      assert.match(error.detail, /^token file "\S+" holds no token$/);
      return content === '' || !`${error.stack}`.includes('canary');
    });
  });

test('a controller starts with a key or a token, and not with both, neither, or a missing file', async t => {
  const given = { gateway: 'http://127.0.0.1:1', 'token-file': '' };
  const both = { ...given, 'key-file': '/k', 'token-file': '/t' };
  for (const one of [given, both])
    await assert.rejects(runController(t, one), /^Error: set exactly one of --key-file and/);
  const missing = { ...given, 'token-file': join(temporaryDirectory(t), 'none') };
  await assert.rejects(runController(t, missing), {
    code: 'UNAVAILABLE',
    detail: /^token file "\S+" cannot be read: it does not exist, or its directory does not$/,
  });
});

/** Projects a token into a file as kubelet does: in a directory behind a link that is swapped. */
function projection(t: TestContext) {
  const directory = temporaryDirectory(t);
  let count = 0;
  return {
    directory,
    async project(claims: TokenChanges = {}): Promise<string> {
      const version = join(directory, `..${++count}`);
      mkdirSync(version);
      writeFileSync(join(version, 'token'), await signAs(issuer, key, claims));
      symlinkSync(`..${count}`, join(directory, '..data_tmp'));
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
      const path = join(directory, 'token');
      rmSync(path, { force: true });
      symlinkSync('..data/token', path);
      return path;
    },
  };
}

/** Serves a gateway that knows cluster east only by its service account. */
async function serveAccount(t: TestContext) {
  const { directory, project } = projection(t);
  const keys = join(directory, 'issuer.jwks.json');
  writeFileSync(keys, JSON.stringify({ keys: [key.publicJwk] }));
  const pools = { main: { backend: 'memory' } };
  const clusters = { east: { serviceAccount: { issuer, subject: account, keys } } };
  const { url } = await runGateway(t, { pools, clusters });
  return {
    url,
    directory,
    project,
    /** Makes a client with the token in the file, and counts the reads. */
    client() {
      const source = readTokenFile(join(directory, 'token'));
      const reads: boolean[] = [];
      const token = (renew: boolean) => {
        reads.push(renew);
        return source(renew);
      };
      const client = createClient({ url, token });
      t.after(() => client.close());
      return { reads, ask: () => client.getCapabilities({}, { deadlineMs: Date.now() + 10_000 }) };
    },
  };
}
