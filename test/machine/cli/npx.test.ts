import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { version } from '../../../src/lib/version.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

test("npx runs the checkout's command directly, without a copy in npm's cache that an interruption breaks", t => {
  const cache = temporaryDirectory(t);
  // A run of npm passes its own settings to its children.
  const env = { PATH: process.env['PATH'], HOME: cache, npm_config_cache: cache, npm_config_offline: 'true' };
  const { status, stdout, stderr } = spawnSync('npx', ['fairlead', '--version'], { encoding: 'utf8', env });
  assert.deepEqual([status, stdout], [0, `${version}\n`], stderr);
  assert.equal(existsSync(join(cache, '_npx')), false);
});
