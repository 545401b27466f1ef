import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { announceDev } from '../../../src/cli/dev.ts';
import { writeContext } from '../../../src/cli/commands/contexts.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

const ready = { gateway: 'http://127.0.0.1:1', node: 'unix:///n.sock' };

test('on a terminal a started fairlead dev shows a box with its addresses and three next commands', () => {
  const box = announceDev({ ready, context: ' --context dev', isTerminal: true });
  const lines = box.trimEnd().split('\n');
  assert.equal(new Set(lines.map(line => line.length)).size, 1, box);
  for (const words of [
    'http://127.0.0.1:1',
    'fairlead get volumes --context dev',
    'fairlead top',
    'get pools',
  ])
    assert.ok(box.includes(words), box);
});

test('elsewhere a started fairlead dev prints its addresses as JSON', () => {
  const line = announceDev({ ready, context: '', isTerminal: false });
  assert.deepEqual(JSON.parse(line), ready);
});

test('a written context becomes the current one, unless there is another, which stays', async t => {
  const env = { XDG_CONFIG_HOME: temporaryDirectory(t) };
  const current = (): unknown =>
    JSON.parse(readFileSync(join(env.XDG_CONFIG_HOME, 'fairlead/contexts.json'), 'utf8'));
  assert.equal(await writeContext(env, 'prod', { gateway: 'https://x' }), '');
  assert.equal(await writeContext(env, 'dev', { gateway: 'http://y' }), ' --context dev');
  assert.equal(await writeContext(env, 'dev', { gateway: 'http://z' }), ' --context dev');
  assert.deepEqual(current(), {
    current: 'prod',
    contexts: { prod: { gateway: 'https://x' }, dev: { gateway: 'http://z' } },
  });
});
