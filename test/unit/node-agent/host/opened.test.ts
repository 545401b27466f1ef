import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openWithoutLinks, throughOpened } from '../../../../node-agent/host/opened.ts';

test('an opened file stays the same when its path changes, and a link on the way is refused', t => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'fairlead-test-')));
  t.after(() => rmSync(directory, { recursive: true }));
  mkdirSync(`${directory}/a/b`, { recursive: true });
  const before = readdirSync('/proc/self/fd').length;
  {
    using opened = openWithoutLinks(`${directory}/a`);
    assert.equal(opened.isInPlace(), true);
    renameSync(`${directory}/a`, `${directory}/c`);
    symlinkSync(`${directory}/c`, `${directory}/a`);
    assert.equal(opened.isInPlace(), false);
    assert.deepEqual(readdirSync(opened.at), ['b']);
    assert.throws(() => openWithoutLinks(`${directory}/a/b`), { code: 'ENOTDIR', path: `${directory}/a/b` });
    assert.throws(() => openWithoutLinks(`${directory}/a`), { code: 'ELOOP', path: `${directory}/a` });
    assert.throws(() => openWithoutLinks(`${directory}/none/b`), { code: 'ENOENT' });
  }
  assert.equal(readdirSync('/proc/self/fd').length, before);
});

test("only a command's arguments at or below the opened path are redirected to it", () => {
  const opened = ['/k/pods/v', '/k/stage'].map(path => Object.assign(openWithoutLinks('/'), { path }));
  const args = ['--', '/k/stage/v', '/k/pods/v', '/k/stages', '/dev/loop0'];
  assert.deepEqual(
    args.map(argument => throughOpened(argument, opened)),
    ['--', '/proc/self/fd/4/v', '/proc/self/fd/3', '/k/stages', '/dev/loop0'],
  );
  for (const one of opened) one[Symbol.dispose]();
});
