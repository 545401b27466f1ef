import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { announceDev } from '../../../src/cli/dev.ts';
import { writeContext } from '../../../src/cli/commands/contexts.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

const ready = { gateway: 'http://127.0.0.1:1', node: 'unix:///n.sock' };

test('on a terminal a started fairlead dev shows a box with its addresses and three next commands', () => {
  const box = announceDev({ ready, command: 'npx fairlead', context: ' --context dev', isTerminal: true });
  const lines = box.trimEnd().split('\n');
  assert.equal(new Set(lines.map(line => line.length)).size, 1, box);
  for (const words of [
    'http://127.0.0.1:1',
    ' npx fairlead get volumes --context dev',
    ' npx fairlead top',
    'get pools',
  ])
    assert.ok(box.includes(words), box);
});

test('elsewhere a started fairlead dev prints its addresses as JSON', () => {
  const line = announceDev({ ready, command: 'fairlead', context: '', isTerminal: false });
  assert.deepEqual(JSON.parse(line), ready);
});

test('a written context becomes the current one, unless there is another, and replaces only its own', async t => {
  const env = { XDG_CONFIG_HOME: temporaryDirectory(t) };
  const current = (): unknown =>
    JSON.parse(readFileSync(join(env.XDG_CONFIG_HOME, 'fairlead/contexts.json'), 'utf8'));
  const [keyFile = '', otherKeyFile = ''] = ['key', 'other-key'].map(name => join(env.XDG_CONFIG_HOME, name));
  const write = (name: string, gateway: string, file = keyFile) =>
    writeContext(env, name, { gateway, 'key-file': file });
  for (const file of [keyFile, otherKeyFile]) writeFileSync(file, '');
  assert.equal((await write('prod', 'https://x')).flag, '');
  assert.equal((await write('dev', 'http://y', join(env.XDG_CONFIG_HOME, 'removed-key'))).name, 'dev');
  const former = await write('dev', 'http://y');
  assert.deepEqual([former.name, former.flag], ['dev', ' --context dev']);
  const own = await write('dev', 'http://z');
  assert.equal(own.name, 'dev');
  const other = await write('dev', 'http://o', otherKeyFile);
  assert.deepEqual([other.name, other.flag], ['dev-2', ' --context dev-2']);
  await former.remove();
  await other.remove();
  const prod = { gateway: 'https://x', 'key-file': keyFile };
  assert.deepEqual(current(), {
    current: 'prod',
    contexts: { prod, dev: { gateway: 'http://z', 'key-file': keyFile } },
  });
  await own.remove();
  assert.deepEqual(current(), { current: 'prod', contexts: { prod } });

  const files = [keyFile, otherKeyFile];
  const both = await Promise.all(files.map(file => write('dev', 'http://y', file)));
  assert.deepEqual(both.map(({ name }) => name).toSorted(), ['dev', 'dev-2']);
  await Promise.all(both.map(({ remove }) => remove()));
  assert.deepEqual(current(), { current: 'prod', contexts: { prod } });
  // A killed process leaves its new file.
  writeFileSync(join(env.XDG_CONFIG_HOME, 'fairlead/contexts.json.new'), 'left '.repeat(100));
  const late = await write('late', 'http://y');
  assert.equal(late.name, 'late');
  assert.deepEqual(Object.keys((current() as { contexts: object }).contexts), ['prod', 'late']);
});
