import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { exec } from '../../../src/lib/exec.ts';

/** Takes all descriptors but a few, tries to start commands, gives all back, and tells how many are open then. */
const source = `
  const { closeSync, openSync, readdirSync } = require('node:fs');
  (async () => {
    const { exec } = await import(process.argv[1]);
    const count = () => readdirSync('/proc/self/fd').length;
    const run = () => exec('echo', ['x'], { timeoutMs: 20_000, stdin: '' });
    await run();
    const before = count();
    const faults = [];
    for (let tries = 0; tries < 20; tries++) {
      const taken = [];
      try {
        for (;;) taken.push(openSync('/dev/null', 'r'));
      } catch {}
      for (const descriptor of taken.splice(0, 6)) closeSync(descriptor);
      faults.push((await run()).fault);
      for (const descriptor of taken) closeSync(descriptor);
    }
    console.log(JSON.stringify({ faults, lost: count() - before, status: (await run()).status }));
  })();`;

test('commands that cannot be started for want of descriptors do not use up those that are left', async () => {
  const path = join(import.meta.dirname, '../../../src/lib/exec.ts');
  const args = ['-c', 'ulimit -n 80 && exec "$0" -e "$1" "$2"', process.execPath, source, path];
  const { stdout, stderr } = await exec('sh', args, { timeoutMs: 120_000 });
  assert.match(stdout, /^\{/, stderr);
  const { faults, lost, status } = JSON.parse(stdout) as { faults: string[]; lost: number; status: number };
  assert.deepEqual(new Set(faults), new Set(['EMFILE']));
  assert.ok(lost <= 3, `${lost} are lost`);
  assert.equal(status, 0);
});
