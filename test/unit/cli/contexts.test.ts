import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli, type CliResult } from '../../harness/cli/run-cli.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';

test("a context has the gateway's settings, a variable overrides it, and a flag overrides both", async t => {
  const { url, directory, signers } = await runGateway(t);
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('key'), JSON.stringify(signers.operators.privateJwk));
  writeFileSync(at('token'), `${await signers.operators.sign({ iss: 'operators' })}\n`);
  writeFileSync(at('bad-token'), 'a.b.c');
  const fairlead = (line: string, env: NodeJS.ProcessEnv = {}): Promise<CliResult> =>
    runCli(line, { env: { XDG_CONFIG_HOME: directory, ...env } });
  const set = await fairlead(`config set-context prod --gateway ${url} --key-file ${at('key')}`);
  assert.deepEqual([set.status, set.stdout, set.stderr], [0, '', 'context "prod" is set\n']);
  const file = join(directory, 'fairlead', 'contexts.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, 'utf8').includes(String(signers.operators.privateJwk.d)), false);
  assert.equal((await fairlead('get clusters -o name')).stdout, 'a\nb\n');

  await fairlead(`config set-context token --gateway ${url} --token-file ${at('token')} --cluster b`);
  assert.equal((await fairlead('config current-context')).stdout, 'prod\n');
  assert.equal((await fairlead('get clusters -o name --context token')).stdout, 'b\n');
  assert.equal((await fairlead('get clusters -o name', { FAIRLEAD_CONTEXT: 'token' })).stdout, 'b\n');
  const both = { FAIRLEAD_CONTEXT: 'token', FAIRLEAD_CLUSTER: 'a' };
  assert.equal((await fairlead('get clusters -o name', both)).stdout, 'a\n');
  assert.equal((await fairlead('get clusters -o name --cluster b', both)).stdout, 'b\n');
  // A given token is not combined with the context's key.
  const refused = await fairlead(`get clusters --token-file ${at('bad-token')}`);
  assert.deepEqual([refused.status, refused.stdout], [1, '']);
  assert.match(refused.stderr, /^fairlead get clusters: .* does not accept the token: /);
  // A name that does not exist needs no look into the log.
  const unknown = await fairlead('describe pool never');
  assert.match(unknown.stderr, /^there is no pool "never"/);

  await fairlead('config use-context token');
  const listed = await fairlead('config get-contexts');
  assert.match(listed.stdout, /^current +name +gateway +credentials +cluster\n +prod .*\n\* +token .* b\n$/);
  assert.equal((await fairlead('config get-contexts -o name')).stdout, 'prod\ntoken\n');
  await fairlead('config delete-context token');
  const { status, stderr } = await fairlead('config use-context prd');
  assert.deepEqual(
    [status, stderr],
    [
      1,
      'fairlead config use-context: there is no context "prd" (did you mean "prod"?); the contexts are prod\n',
    ],
  );
  assert.match((await fairlead('get pools')).stderr, /--gateway is required/);
});

test('a context that allows http is usable, also as older versions wrote it, and so is any name', async t => {
  const { url, directory, signers } = await runGateway(t);
  const env = { XDG_CONFIG_HOME: directory };
  const keyFile = join(directory, 'key');
  writeFileSync(keyFile, JSON.stringify(signers.operators.privateJwk));
  await runCli(`config set-context open --gateway ${url} --allow-http --key-file ${keyFile}`, { env });
  await runCli('config set-context constructor --gateway http://192.0.2.1', { env });
  const file = join(directory, 'fairlead', 'contexts.json');
  const written = readFileSync(file, 'utf8');
  const older = written.replace('"allow-http": "true"', '"allow-http": true');
  assert.notEqual(older, written);
  for (const content of [written, older]) {
    writeFileSync(file, content);
    assert.equal((await runCli('get clusters -o name', { env })).stdout, 'a\nb\n', content);
    await runCli('config use-context open', { env });
    assert.equal((await runCli('config get-contexts -o name', { env })).stdout, 'open\nconstructor\n');
  }
  const { stderr } = await runCli('get clusters --context constructor --key-file /none', { env });
  assert.match(stderr, /"http:\/\/192\.0\.2\.1" is another machine.*or --allow-http\n$/);
});

test('a key in place of a token removes the token, and a file without contexts is reported', async t => {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: directory };
  await runCli('config set-context one --token-file /t', { env });
  await runCli('config set-context one --key-file /k', { env });
  const { contexts } = JSON.parse((await runCli('config get-contexts -o json', { env })).stdout) as {
    contexts: object;
  };
  assert.deepEqual(contexts, { one: { 'key-file': '/k' } });
  for (const content of [
    'nonsense',
    '[]',
    '{"contexts":[]}',
    '{"current":5,"contexts":{}}',
    '{"contexts":{"a":{"gateway":5}}}',
    '{"contexts":{"a":"b"}}',
    '{"contexts":{"a":null}}',
    '{"current":true,"contexts":{}}',
  ]) {
    writeFileSync(join(directory, 'fairlead', 'contexts.json'), content);
    const { status, stderr } = await runCli('config get-contexts', { env });
    assert.deepEqual(
      [status, stderr.replace(directory, '')],
      [
        1,
        'fairlead config get-contexts: "/fairlead/contexts.json" is not a file of contexts: repair it, or remove it and set the contexts again\n',
      ],
      content,
    );
  }
});
