import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { poll } from '../../../../src/lib/concurrency.ts';
import {
  inOwnMounts,
  makeTemporaryDirectory,
  removeTemporaryDirectory,
  testAsRoot,
} from '../../../harness/machine.ts';

/** The namespaces that isolate the tests' storage systems from the machine. */
const namespaces = ['--net', '--pid', '--fork', '--kill-child'];

testAsRoot('a program in its own namespace keeps no device of another test busy', async t => {
  const [own, other] = [makeTemporaryDirectory(), makeTemporaryDirectory()];
  t.after(() => {
    for (const dir of [own, other]) removeTemporaryDirectory(dir);
  });
  const [image, path] = [join(other, 'image'), join(other, 'mount')];
  execFileSync('truncate', ['--size', '32M', image]);
  execFileSync('mkfs.ext4', ['-q', image]);
  mkdirSync(path);
  const device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
  execFileSync('mount', [device, path]);
  const [unshare = '', ...apart] = inOwnMounts(own, namespaces);
  const child = spawn(unshare, [...apart, 'sh', '-c', 'echo ready; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await once(child.stdout, 'data');
  execFileSync('umount', [path]);
  execFileSync('losetup', ['--detach', device]);
  const isGone = () => !existsSync(`/sys/block/${basename(device)}/loop`) || undefined;
  assert.ok(await poll(isGone, { everyMs: 50, timeoutMs: 30_000 }));
  assert.equal(child.exitCode, null);
});
