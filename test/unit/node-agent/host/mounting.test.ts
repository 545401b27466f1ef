import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceNumberOf, unmountAll } from '../../../../node-agent/host/mount.ts';
import type { ExecResult } from '../../../../src/lib/exec.ts';
import { createSysfsHost } from '../../../fakes/sysfs.ts';
import { openFakeBench } from '../../../harness/node-agent-bench.ts';

const ended: ExecResult = { status: 0, stdout: '', stderr: '', timedOut: false, missing: false };
const outcomes = {
  works: ended,
  refused: { ...ended, status: 32 },
  hangs: { ...ended, status: undefined, timedOut: true },
} as const satisfies Record<string, ExecResult>;

type Outcome = keyof typeof outcomes;

/** How each way of umount ends, in the order in which they are to be tried. */
type Case = {
  readonly title: string;
  readonly ways: readonly (readonly [way: string, outcome: Outcome])[];
  readonly isHung?: boolean;
  readonly allowsLazy?: boolean;
  readonly code?: string;
};

const cases: readonly Case[] = [
  { title: 'what comes off is not forced', ways: [['', 'works']] },
  { title: 'what is refused is never forced', ways: [['', 'refused']], code: 'UNAVAILABLE' },
  {
    title: 'what hangs is forced',
    ways: [
      ['', 'hangs'],
      ['--force', 'works'],
    ],
  },
  {
    title: 'what hangs is forced again once the force has freed its users',
    ways: [
      ['', 'hangs'],
      ['--force', 'refused'],
      ['--force', 'works'],
    ],
  },
  {
    title: 'what hangs on by force is left, and never cut loose by default',
    ways: [
      ['', 'hangs'],
      ['--force', 'hangs'],
    ],
    code: 'DEADLINE_EXCEEDED',
  },
  {
    title: 'what hangs on by force is cut loose where that is allowed',
    ways: [
      ['', 'hangs'],
      ['--force', 'hangs'],
      ['--lazy', 'works'],
    ],
    allowsLazy: true,
  },
  {
    title: 'what is known to hang is forced at once',
    ways: [['--force', 'works']],
    isHung: true,
  },
];

for (const { title, ways, isHung = false, allowsLazy = false, code } of cases) {
  test(title, async () => {
    const { host, directory } = openFakeBench();
    const path = `${directory}/pods`;
    const mount = { id: 1, parentId: 0, device: '0:9', root: '/', path, options: ['rw'], type: 'fuse' };
    host.state.mounts.push({ ...mount, source: 'none', superOptions: ['rw'] });
    const tried: string[] = [];
    const run = async (_: string, args: readonly string[]): Promise<ExecResult> => {
      tried.push(args[0] === '--' ? '' : (args[0] ?? ''));
      const result = outcomes[ways[tried.length - 1]?.[1] ?? 'refused'];
      if (result === ended) host.state.mounts.pop();
      return result;
    };
    const work = unmountAll({ host: { ...host, run }, unmounting: { isHung, allowsLazy } }, path);
    await (code === undefined ? work : assert.rejects(work, { code }));
    assert.deepEqual(
      tried,
      ways.map(([way]) => way),
    );
  });
}

test('an umount that hangs after it took the mount off is not repeated', async () => {
  const { host, directory } = openFakeBench();
  const path = `${directory}/pods`;
  const mount = { id: 1, parentId: 0, device: '7:9', root: '/', path, options: ['rw'], type: 'ext4' };
  host.state.mounts.push({ ...mount, source: '/dev/loop9', superOptions: ['rw'] });
  let runs = 0;
  const run = async (): Promise<ExecResult> => {
    runs++;
    host.state.mounts.pop();
    return outcomes.hangs;
  };
  await unmountAll({ host: { ...host, run }, unmounting: { isHung: false, allowsLazy: true } }, path);
  assert.equal(runs, 1);
});

test('a filesystem on an anonymous device has the number of the device that it is mounted from, mapped ones too', async () => {
  const host = createSysfsHost();
  host.put('/sys/class/block/sda/dev', '8:0');
  host.put('/sys/class/block/dm-0/dev', '254:0');
  host.put('/sys/class/block/dm-0/dm/name', 'mpatha');
  const mount = { id: 1, parentId: 0, device: '0:60', root: '/', path: '/x', type: 'btrfs' };
  const rows = [
    ['/dev/sda', '8:0'],
    ['/dev/mapper/mpatha', '254:0'],
    ['/dev/mapper/mpath', 'mapper/mpath'],
    ['none', undefined],
  ] as const;
  for (const [source, number] of rows)
    assert.equal(await deviceNumberOf({ ...mount, options: [], superOptions: [], source }, host), number);
});
