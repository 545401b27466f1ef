import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startCeph, whyNoCeph } from './ceph.ts';

const tests = fileURLToPath(new URL('inside/ceph-vendor.ts', import.meta.url));

void test("Ceph is a storage vendor, by its dashboard's API", { skip: whyNoCeph() }, async t => {
  const { inside, env } = await startCeph(t);
  const [program = '', ...args] = [
    ...inside,
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    tests,
  ];
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const child = spawn(program, args, { env: { ...own, ...env }, stdio: ['ignore', 'inherit', 'inherit'] });
  const [status] = await once(child, 'exit');
  assert.equal(status, 0);
});
