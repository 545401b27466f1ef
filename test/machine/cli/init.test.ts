import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { version } from '../../../src/lib/version.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { cli } from '../../harness/program.ts';

const init = (...argv: readonly string[]) =>
  spawnSync(process.execPath, [cli, 'init', 'vendor', ...argv], { encoding: 'utf8' });

for (const [example, flags] of [
  ['vendor-hono', []],
  ['vendor-python', ['--lang', 'python']],
  ['vendor-go', ['--lang', 'go']],
] as const)
  test(`a vendor's project is examples/${example} under a new name, tested by this release`, t => {
    const dir = join(temporaryDirectory(t), 'Acme Storage');
    const { status, stdout, stderr } = init(dir, ...flags);
    assert.equal(status, 0, stderr);
    assert.ok(stdout.includes(`npm install ./fairlead-${version}.tgz`), stdout);
    const { name, scripts, dependencies } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
    assert.equal(name, 'acme-storage');
    assert.equal(dependencies.fairlead, version);
    assert.match(scripts.test, / fairlead verify --start /);
    const files = readdirSync(dir).filter(file => !['package.json', '.gitignore'].includes(file));
    for (const file of files)
      assert.ok(readFileSync(join(dir, file)).equals(readFileSync(join('examples', example, file))), file);
  });

test('a directory with files stays as it is', t => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'notes'), 'mine');
  const { status, stderr } = init(dir);
  assert.equal(status, 1);
  assert.equal(stderr, `fairlead init vendor: "${dir}" is not empty: choose another directory\n`);
  assert.deepEqual(readdirSync(dir), ['notes']);
});
