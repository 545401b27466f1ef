import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { runGateway } from '../../harness/gateway/program.ts';

test('fairlead console prints a link for a gateway that serves the console, and says so of any other', async t => {
  const bare = await runGateway(t);
  const { status, stdout, stderr } = await operatorCli(bare)('console');
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /: the gateway at http:\S+ does not serve the console; start it with --console\n$/);
  const serving = await runGateway(t, { flags: { console: 'true' } });
  const link = await operatorCli(serving)('console');
  assert.deepEqual([link.status, link.stdout.startsWith(`${serving.url}/console#code=`)], [0, true]);
});
