import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceNumberOf, unmountAll, type Unmounting } from '../../../../node-agent/host/mount.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import type { Mount } from '../../../../src/lib/linux/mountinfo.ts';
import { createSysfsHost } from '../../../fakes/sysfs.ts';
import { openFakeBench } from '../../../harness/node-agent-bench.ts';

const ended: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false };
const outcomes: Readonly<Record<string, ExecResult>> = {
  works: ended,
  refused: { ...ended, status: 32 },
  hangs: { ...ended, status: undefined, timedOut: true },
};

/** How umount ends each time, with the option of its force, and the code of the failure that comes of it all. */
type Row = readonly [title: string, tries: readonly string[], code?: string];

const rows: readonly Row[] = [
  ['what comes off is not forced', [' works']],
  ['what is refused is never forced', [' refused'], 'UNAVAILABLE'],
  ['what hangs is forced', [' hangs', '--force works']],
  [
    'what hangs is forced until the force has freed its users',
    [' hangs', '--force refused', '--force works'],
  ],
  [
    'what hangs on by force stays, and is never detached lazily',
    [' hangs', '--force hangs'],
    'DEADLINE_EXCEEDED',
  ],
];
const lazy: Row = ['what hangs on by force is detached lazily', [' hangs', '--force hangs', '--lazy works']];
const known: Row = ['what is known to hang is forced at once', ['--force works']];

function check([title, tries, code]: Row, unmounting: Partial<Unmounting> = {}): void {
  test(title, async () => {
    const { host, directory } = openFakeBench();
    const path = `${directory}/pods`;
    host.state.mounts.push(mountAt(path, '0:9'));
    const tried: string[] = [];
    const run = async (_: string, args: readonly string[]): Promise<ExecResult> => {
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

test('an umount that hangs after it took the mount off is not repeated', async () => {
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

test('a filesystem on an anonymous device has the number of the device that it is mounted from, mapped ones too', async () => {
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

test('a device node that was removed with its device shows no device, though another has its name by now', async () => {
  const host = createSysfsHost();
  host.put('/sys/class/block/nvme0n1/dev', '259:1');
  const node = { ...mountAt('/x', '0:5', 'none'), type: 'devtmpfs' };
  assert.equal(await deviceNumberOf({ ...node, root: '/nvme0n1' }, host), '259:1');
  assert.equal(await deviceNumberOf({ ...node, root: '/nvme0n1//deleted' }, host), 'nvme0n1');
});
