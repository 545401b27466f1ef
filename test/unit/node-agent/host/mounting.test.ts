import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceNumberOf, unmountAll, type UnmountPolicy } from '../../../../node-agent/host/mount.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import type { Mount } from '../../../../src/lib/linux/mountinfo.ts';
import { createSysfsHost } from '../../../fakes/sysfs.ts';
import { openFakeBench } from '../../../harness/node.ts';

const ended: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false };
const outcomes: Readonly<Record<string, ExecResult>> = {
  works: ended,
  refused: { ...ended, status: 32 },
  hangs: { ...ended, status: undefined, timedOut: true },
};

/** The outcomes of umount's runs, with the option of its force, and the code of the final failure. */
type Row = readonly [title: string, tries: readonly string[], code?: string];

const rows: readonly Row[] = [
  ['a mount that comes off is not forced', [' works']],
  ['a refused unmount is never forced', [' refused'], 'UNAVAILABLE'],
  ['a hanging mount is forced', [' hangs', '--force works']],
  [
    'a hanging mount is forced until the force has freed its users',
    [' hangs', '--force refused', '--force works'],
  ],
  [
    'a forced mount that still hangs stays, and is never detached lazily',
    [' hangs', '--force hangs'],
    'DEADLINE_EXCEEDED',
  ],
];
const lazy: Row = [
  'a forced mount that still hangs is detached lazily',
  [' hangs', '--force hangs', '--lazy works'],
];
const known: Row = ['a mount that is known to hang is forced at once', ['--force works']];

function check([title, tries, code]: Row, unmounting: Partial<UnmountPolicy> = {}): void {
  test(title, async () => {
    const { host, directory } = openFakeBench();
    const path = `${directory}/pods`;
    host.state.mounts.push(mountAt(path, '0:9'));
    const tried: string[] = [];
    const run = async (command: string, args: readonly string[]): Promise<ExecResult> => {
      if (command !== 'umount') return ended;
      const outcome = tries[tried.length]?.split(' ')[1] ?? 'refused';
      tried.push(`${args.find(arg => ['--force', '--lazy'].includes(arg)) ?? ''} ${outcome}`);
      if (outcome === 'works') host.state.mounts.pop();
      return outcomes[outcome] ?? assert.fail(outcome);
    };
    const how = { isHung: false, allowsLazy: false, ...unmounting };
    const work = unmountAll({ host: { ...host, run }, unmounting: how }, path);
    await (code === undefined ? work : assert.rejects(work, { code }));
    assert.deepEqual(tried, tries);
  });
}

for (const row of rows) check(row);
check(lazy, { allowsLazy: true });
check(known, { isHung: true });

function mountAt(path: string, device: string, source = 'none'): Mount {
  const options = { options: ['rw'], superOptions: ['rw'] };
  return { id: 1, parentId: 0, device, root: '/', path, type: 'fuse', source, ...options };
}

test('only a failure of umount itself searches for the users of the path', async () => {
  for (const [isBelow, detail, commands] of [
    [
      false,
      /^"umount .*" ended with status 32; no process that the agent sees holds on to it$/,
      ['umount', 'find'],
    ],
    [true, /^"\S+" has fuse of "none" \(0:10\) below it, at "\S+\/below"$/, []],
  ] as const) {
    const { host, directory } = openFakeBench();
    const path = `${directory}/pods`;
    host.state.mounts.push(mountAt(path, '0:9'));
    if (isBelow) host.state.mounts.push(mountAt(`${path}/below`, '0:10'));
    const run: string[] = [];
    const observed = async (command: string): Promise<ExecResult> => {
      run.push(command);
      return command === 'umount' ? { ...ended, status: 32 } : ended;
    };
    const agent = { host: { ...host, run: observed }, unmounting: { isHung: false, allowsLazy: false } };
    await assert.rejects(unmountAll(agent, path), { detail });
    assert.deepEqual(run, commands);
  }
});

test('an umount that hangs after it has unmounted is not repeated', async () => {
  const { host, directory } = openFakeBench();
  const path = `${directory}/pods`;
  host.state.mounts.push(mountAt(path, '7:9'));
  let runs = 0;
  const run = async (): Promise<ExecResult> => {
    runs++;
    host.state.mounts.pop();
    return outcomes['hangs'] ?? ended;
  };
  await unmountAll({ host: { ...host, run }, unmounting: { isHung: false, allowsLazy: true } }, path);
  assert.equal(runs, 1);
});

test('a filesystem on an anonymous device gets the number of its source device, even of a mapped one', async () => {
  const host = createSysfsHost();
  host.put('/sys/class/block/sda/dev', '8:0');
  host.put('/sys/class/block/dm-0/dev', '254:0');
  host.put('/sys/class/block/dm-0/dm/name', 'mpatha');
  for (const [source, number] of [
    ['/dev/sda', '8:0'],
    ['/dev/mapper/mpatha', '254:0'],
    ['/dev/mapper/mpath', 'mapper/mpath'],
    ['none', undefined],
  ] as const)
    assert.equal(await deviceNumberOf(mountAt('/x', '0:60', source), host), number);
});

test('a device node that was removed with its device shows no device, even if another one has its name by now', async () => {
  const host = createSysfsHost();
  host.put('/sys/class/block/nvme0n1/dev', '259:1');
  const node = { ...mountAt('/x', '0:5', 'none'), type: 'devtmpfs' };
  assert.equal(await deviceNumberOf({ ...node, root: '/nvme0n1' }, host), '259:1');
  assert.equal(await deviceNumberOf({ ...node, root: '/nvme0n1//deleted' }, host), 'nvme0n1');
});
