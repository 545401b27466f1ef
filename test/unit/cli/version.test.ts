import assert from 'node:assert/strict';
import { test } from 'node:test';
import { version } from '../../../src/lib/version.ts';
import { operatorCli, runCli } from '../../harness/cli/run-cli.ts';
import { runGateway } from '../../harness/gateway/program.ts';

test('fairlead version shows the client and the gateway, in text, JSON and YAML', async t => {
  const gateway = await runGateway(t);
  const fairlead = operatorCli(gateway);
  const shown = `client   ${version}\ngateway  ${version} at ${gateway.url}\n`;
  assert.deepEqual(await fairlead('version'), { status: 0, stdout: shown, stderr: '' });
  const json = JSON.parse((await fairlead('version -o json')).stdout) as unknown;
  assert.deepEqual(json, { client: version, gateway: version });
  assert.equal((await fairlead('version -o yaml')).stdout, `client: ${version}\ngateway: ${version}\n`);
  await gateway.end();
  const { status, stdout, stderr } = await fairlead('version');
  assert.deepEqual([status, stdout], [1, `client   ${version}\n`]);
  assert.match(stderr, /^fairlead version: /);
});

test('fairlead version shows the client without a gateway, and asks no gateway with --client', async () => {
  const env = { XDG_CONFIG_HOME: '/nonexistent' };
  const { status, stdout, stderr } = await runCli('version', { env });
  assert.deepEqual([status, stdout], [0, `client   ${version}\n`]);
  assert.match(stderr, /^no gateway is chosen; give --gateway, /);
  const only = { status: 0, stdout: `client   ${version}\n`, stderr: '' };
  assert.deepEqual(await runCli('version --client', { env }), only);
  assert.deepEqual(await runCli('version --client --gateway https://192.0.2.1', { env }), only);
});
