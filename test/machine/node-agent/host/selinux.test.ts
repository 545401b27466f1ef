import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { hasContext } from '../../../../node-agent/host/selinux.ts';
import { stage } from '../../../../node-agent/volumes/stage.ts';
import {
  openFakeBench,
  openRealBench,
  openNode,
  putUp,
  real,
  takeDown,
  withCommands,
  type Bench,
} from '../../../harness/node.ts';

const plain = 'context="system_u:object_r:container_file_t:s0"';
const context = 'context="system_u:object_r:container_file_t:s0:c10,c20"';
const other = 'context="system_u:object_r:container_file_t:s0:c30,c40"';

/**
 * Opens a volume on the fake machine, which shows contexts as a kernel with SELinux does; this machine's kernel may
 * have none.
 */
function open(mountFlags: readonly string[], fsType = 'ext4', bench: Bench = openSelinuxBench()) {
  return openNode(bench, {
    image: { content: fsType },
    capability: { fsType, mountFlags: [...mountFlags] },
  });
}

function openSelinuxBench() {
  const bench = openFakeBench();
  bench.host.state.texts.set('/proc/filesystems', 'nodev\tsysfs\nnodev\tselinuxfs\n\text4\n');
  return bench;
}

for (const fsType of ['ext4', 'xfs', 'btrfs'])
  test(`a ${fsType} is mounted with the context of its pod, as one argument`, async () => {
    const { agent, request } = await open(['noatime', context], fsType);
    const lines: string[] = [];
    const watched = withCommands(agent, (command, args) => {
      if (command === 'mount') lines.push(args[args.indexOf('-o') + 1] ?? '');
      return undefined;
    });
    await stage(watched, request);
    assert.ok(lines[0]?.endsWith(`noatime,${context}`), lines.join());
    await putUp(agent, request);
    await takeDown(agent, request);
  });

test('publish and stage with another context than the staged one are refused until it is staged anew', async () => {
  const { agent, request } = await open([context]);
  const changedTo = (mountFlags: string[]) => ({
    ...request,
    capability: { ...request.capability, mountFlags },
  });
  await stage(agent, request);
  for (const mountFlags of [[other], [plain], []]) {
    const changed = changedTo(mountFlags);
    await assert.rejects(publish(agent, changed), { code: 'FAILED_PRECONDITION', detail: /mount flags/ });
    await assert.rejects(stage(agent, changed), { code: 'ALREADY_EXISTS', detail: /mount flags/ });
  }
  await publish(agent, request);
  const changed = changedTo([other]);
  await assert.rejects(publish(agent, changed), { code: 'ALREADY_EXISTS', detail: /mount flags/ });
  await takeDown(agent, request);
  await putUp(agent, changed);
});

const selinuxfs = {
  id: 1,
  parentId: 0,
  device: '0:20',
  root: '/',
  path: '/sys/fs/selinux',
  options: ['rw'],
  type: 'selinuxfs',
  source: 'selinuxfs',
  superOptions: ['rw'],
};

const droppers = [
  { mounts: [selinuxfs], hasConfig: true, code: 'UNAVAILABLE', says: /the requested SELinux context$/ },
  { mounts: [selinuxfs], code: 'FAILED_PRECONDITION', says: /has no "\/etc\/selinux\/config"/ },
  { mounts: [], code: 'FAILED_PRECONDITION', says: /has no "\/sys\/fs\/selinux"/ },
  { mounts: [{ ...selinuxfs, options: ['ro'] }], code: 'FAILED_PRECONDITION', says: /that it may write to/ },
];

for (const { mounts, hasConfig = false, code, says } of droppers)
  test(`a mount that does not show the requested context is unmounted again: ${says}`, async () => {
    const bench = openSelinuxBench();
    const { state } = bench.host;
    state.mounts.push(...mounts);
    if (hasConfig) state.paths.set('/etc/selinux/config', 'file');
    const { agent, request } = await open([context], 'ext4', bench);
    const run: typeof agent.host.run = (command, args) =>
      bench.host.run(
        command,
        args.map(arg => arg.replace(context, other)),
      );
    const refusal = stage({ ...agent, host: { ...agent.host, run } }, request);
    await assert.rejects(refusal, { code, detail: says });
    assert.deepEqual(state.mounts, mounts);
  });

const spellings = [
  ['s0:c20,c10', 's0:c10,c20'],
  ['s0:c1,c2,c3', 's0:c1.c3'],
  ['s0:c1.c3,c2.c5', 's0:c1.c5'],
  ['s0:c10,c10', 's0:c10'],
  ['s0-s0', 's0'],
  ['s0-s0:c0.c3', 's0-s0:c0,c1,c2,c3'],
] as const;

test('a context equals the requested one in every spelling of the kernel, and no other context does', () => {
  const owner = 'system_u:object_r:container_file_t';
  const shows = (level: string, asked: string): boolean =>
    hasContext(
      { ...selinuxfs, superOptions: `rw,context="${owner}:${level}"`.split(',') },
      { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', mountFlags: [`context="${owner}:${asked}"`] },
    );
  for (const [asked, shown] of spellings) assert.ok(shows(shown, asked), asked);
  const levels = [...new Set(spellings.map(([, shown]) => shown)), 's0:c1', 's1', 's0:c1,odd', 's0:odd.c3'];
  for (const shown of levels)
    for (const asked of levels) assert.equal(shows(shown, asked), shown === asked, `${shown} for ${asked}`);
});

test('a used mount whose record was lost is not adopted with another context', async () => {
  const { agent, request } = await open([context]);
  await stage(agent, request);
  await publish(agent, request);
  await agent.records.remove(request.volumeId);
  const changed = { ...request, capability: { ...request.capability, mountFlags: [other] } };
  const detail = /other options than the request has/;
  await assert.rejects(stage(agent, changed), { code: 'FAILED_PRECONDITION', detail });
  await stage(agent, request);
});

test('a bind mount has the context of its own filesystem and accepts no other', async () => {
  const bench = openSelinuxBench();
  await bench.host.createDirectory(`${bench.directory}/volume`);
  const { agent, request } = await open([context], 'ext4', bench);
  const { attachmentId, sizeBytes } = request.attachment;
  const common = { attachmentId, sizeBytes, readonly: false, mayFormat: false };
  const attachment = { protocol: 'bind', path: `${bench.directory}/volume`, ...common } as const;
  const { fsType: _, ...capability } = request.capability;
  await assert.rejects(stage(agent, { ...request, attachment, capability }), { code: 'INVALID_ARGUMENT' });
});

const hasSelinux = readFileSync('/proc/filesystems', 'utf8').includes('selinuxfs');
const without = hasSelinux ? { skip: 'the kernel has SELinux' } : real();
const withIt = hasSelinux ? real() : { skip: 'the kernel has no SELinux' };

test('a context on a kernel without SELinux is refused by name, and leaves nothing', without, async t => {
  const { agent, request } = await open([plain], 'ext4', openRealBench(t));
  const detail =
    'mount flag "context" cannot be used: SELinux is missing or off in the kernel of this node; remove the flag or turn SELinux on';
  await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION', detail });
  assert.deepEqual(agent.records.all(), []);
});

test('the mount shows the context on a kernel with SELinux', withIt, async t => {
  const { agent, request } = await open([context, 'noexec'], 'ext4', openRealBench(t));
  await putUp(agent, request);
  await takeDown(agent, request);
});
