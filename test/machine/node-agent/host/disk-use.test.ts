import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { findUser, settleDisk } from '../../../../node-agent/host/disk-use.ts';
import { readDisk } from '../../../../node-agent/host/disk.ts';
import { inOwnMounts } from '../../../harness/machine.ts';
import { findMissing, openRealBench, whyNoMachine } from '../../../harness/node.ts';

const only = whyNoMachine === undefined ? {} : { skip: whyNoMachine };

/** Makes an image into a loop device and returns the disk's name. */
async function openDisk(t: TestContext, content: string) {
  const bench = openRealBench(t);
  const image = bench.makeImage('image', { content });
  const args = ['--find', '--show', '--', image];
  const path = execFileSync('losetup', args, { encoding: 'utf8' }).trim();
  const disk = await readDisk(path.slice('/dev/'.length), bench.host);
  assert.ok(disk);
  return { ...bench, image, path, disk };
}

/** Runs a script, which prints a line once it is ready, until the returned function is called. */
async function hold(t: TestContext, command: string, args: readonly string[]): Promise<() => Promise<void>> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const end = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  t.after(end);
  await Promise.race([once(child.stdout, 'data'), ended.then(() => assert.fail(`${command} ended`))]);
  return end;
}

for (const type of ['ext4', 'xfs', 'btrfs']) {
  const skip = whyNoMachine ?? findMissing([`mkfs.${type}`]);
  test(
    `a disk is in use while another mount namespace still has its ${type}`,
    skip ? { skip } : {},
    async t => {
      const { host, directory, disk, path } = await openDisk(t, type);
      const target = `${directory}/stage/v`;
      mkdirSync(target);
      execFileSync('mount', ['-t', type, '--', path, target]);
      const [unshare = '', ...apart] = inOwnMounts(directory);
      const release = await hold(t, unshare, [
        ...apart,
        'sh',
        '-c',
        'mount --make-rprivate / && echo ready && read _',
      ]);
      execFileSync('umount', ['--', target]);
      assert.equal(
        await findUser(disk, host),
        `${type}, mounted where the agent does not see it, or frozen when it was unmounted`,
      );
      await assert.rejects(settleDisk(disk, host), { code: 'UNAVAILABLE' });
      await release();
      await settleDisk(disk, host);
    },
  );
}

test(
  'the writes of a process that still has a disk open are on the disk once it is settled',
  only,
  async t => {
    const { host, image, path, disk } = await openDisk(t, 'blank');
    const script = 'exec 3<>"$0" && printf precious >&3 && echo ready && read _';
    await hold(t, 'sh', ['-c', script, path]);
    await settleDisk(disk, host);
    assert.equal(execFileSync('head', ['--bytes=8', image], { encoding: 'utf8' }), 'precious');
  },
);
