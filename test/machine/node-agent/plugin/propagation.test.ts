import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import { requireShared } from '../../../../node-agent/plugin/mount-propagation.ts';
import { parseMountinfo } from '../../../../src/lib/linux/mountinfo.ts';
import { driverName, openNode } from '../../../harness/agent.ts';
import { mountsBelow, noRoot } from '../../../harness/machine.ts';

const dir = '/var/lib/kubelet';
const rows = [
  { title: 'a plain host whose root is private', lines: ['/ rw'], isRefused: false },
  { title: 'a plain host with a private disk above', lines: ['/ rw', '/var rw'], isRefused: false },
  { title: 'a container whose root takes mounts alone', lines: ['/ rw master:1'], isRefused: false },
  { title: 'a pod with Bidirectional', lines: ['/ rw', `${dir} rw shared:7 master:1`], isRefused: false },
  { title: 'a pod with HostToContainer', lines: ['/ rw', `${dir} rw master:1`], isRefused: true },
  { title: 'a pod with None', lines: ['/ rw shared:1', `${dir} rw`], isRefused: true },
  {
    title: 'a pod with a directory above',
    lines: ['/ rw shared:1', '/var/lib rw master:1'],
    isRefused: true,
  },
  { title: 'another mount over a shared one', lines: [`${dir} rw shared:7`, `${dir} rw`], isRefused: true },
] as const;

for (const { title, lines, isRefused } of rows) {
  test(`${title} is ${isRefused ? 'refused' : 'fine'}`, () => {
    const text = lines.map((line, index) => `${index + 2} 1 8:${index} / ${line} - ext4 /dev/sda rw\n`);
    const check = () => requireShared({ named: dir, real: dir }, parseMountinfo(text.join('')));
    if (isRefused) assert.throws(check, { message: /would reach no pod.*mountPropagation: Bidirectional/ });
    else check();
  });
}

const only = { skip: noRoot };

/** A node with kubelet's directory as a shared mount, and a command that gives its own child another view of it. */
function openShared(t: TestContext) {
  const node = openNode(t);
  for (const args of [
    ['--bind', node.root, node.root],
    ['--make-shared', node.root],
  ])
    execFileSync('mount', args);
  const inPod = (propagation: string) =>
    ['unshare', '--mount', '--propagation', 'unchanged', 'sh', '-c'].concat(
      `mount --make-${propagation} "$0" && exec "$@"`,
      node.root,
    );
  return { node, inPod };
}

for (const propagation of ['private', 'slave']) {
  test(`the agent does not start where its mounts stay in its pod (${propagation})`, only, async t => {
    const { node, inPod } = openShared(t);
    const { ready } = node.startAgent({}, inPod(propagation));
    await assert.rejects(ready, {
      message: /would reach no pod.*set mountPropagation: Bidirectional for it/,
    });
  });
}

test('what an agent in a pod with Bidirectional mounts, the node sees', only, async t => {
  const { node, inPod } = openShared(t);
  const agent = node.startAgent({}, inPod('shared'));
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  await kubelet.runPod({ uid: 'pod', volumes: [node.makeVolume('v')] });
  assert.equal(mountsBelow(node.root).length, 3);
  await kubelet.drain();
  assert.deepEqual(mountsBelow(node.root), [node.root]);
  await agent.end();
});
