import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createMachine } from '../../../../node-agent/host/linux.ts';

test('each of many concurrent commands yields to others before the next one starts', async () => {
  const host = createMachine({ timeoutMs: 30_000 });
  await host.run('true', []);
  const running = Array.from({ length: 20 }, () => host.run('sleep', ['0.5']));
  let max = 0;
  let before = 0;
  for (let slice = 0; slice < 40; slice++) {
    await setImmediate();
    const started = countChildren();
    max = Math.max(max, started - before);
    before = started;
  }
  assert.ok(max > 0);
  assert.ok(max <= 2, `${max} commands were started in one time slice`);
  const results = await Promise.all(running);
  assert.ok(results.every(({ status }) => status === 0));
});

test('a command gets its search path, no locale, and nothing else of the environment', async () => {
  const { stdout } = await createMachine({ timeoutMs: 30_000 }).run('/usr/bin/env', []);
  const names = stdout.split('\n').flatMap(line => /^[^=]+(?==)/.exec(line) ?? []);
  const expected = ['LC_ALL', 'LIBMOUNT_FORCE_MOUNT2', 'PATH'];
  assert.deepEqual(names.filter(name => name !== 'LD_LIBRARY_PATH').toSorted(), expected);
});

function countChildren(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).length;
}
