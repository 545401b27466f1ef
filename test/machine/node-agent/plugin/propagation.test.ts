import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import { requireShared } from '../../../../node-agent/plugin/mount-propagation.ts';
import { parseMountinfo } from '../../../../src/lib/linux/mountinfo.ts';
import { prepareNode, runNode } from '../../../harness/node/program.ts';
import { inOwnMounts, mountsBelow, testAsRoot } from '../../../harness/machine.ts';

const dir = '/var/lib/kubelet';
const rows: readonly (readonly [title: string, verdict: 'fine' | 'refused', ...lines: string[]])[] = [
  ['a plain host whose root is private', 'fine', '/ rw'],
  ['a plain host with a private disk above', 'fine', '/ rw', '/var rw'],
  ['a container whose root takes mounts alone', 'fine', '/ rw master:1'],
  ['a pod with Bidirectional', 'fine', '/ rw', `${dir} rw shared:7 master:1`],
  ['a pod with HostToContainer', 'refused', '/ rw', `${dir} rw master:1`],
  ['a pod with None', 'refused', '/ rw shared:1', `${dir} rw`],
  ['a pod with a directory above', 'refused', '/ rw shared:1', '/var/lib rw master:1'],
  ['another mount over a shared one', 'refused', `${dir} rw shared:7`, `${dir} rw`],
];

for (const [title, verdict, ...lines] of rows)
  test(`${title} is ${verdict}`, () => {
    const text = lines.map((line, index) => `${index + 2} 1 8:${index} / ${line} - ext4 /dev/sda rw\n`);
    const check = () => requireShared({ named: dir, real: dir }, parseMountinfo(text.join('')));
    if (verdict === 'refused')
      assert.throws(check, { message: /would not reach pods.*mountPropagation: Bidirectional/ });
    else check();
  });

/** Opens a node with kubelet's directory as a shared mount, and a command that gives its child another view of it. */
function openShared(t: TestContext) {
  const node = prepareNode(t);
  execFileSync('mount', ['--bind', node.root, node.root]);
  execFileSync('mount', ['--make-shared', node.root]);
  const apart = inOwnMounts(node.root);
  const inPod = (propagation: string) =>
    apart.concat('sh', '-c', `mount --make-${propagation} "$0" && exec "$@"`, node.root);
  return { node, inPod };
}

for (const propagation of ['private', 'slave'])
  testAsRoot(`the agent does not start where its mounts stay in its pod (${propagation})`, async t => {
    const { node, inPod } = openShared(t);
    const { ready } = node.startAgent({}, { by: inPod(propagation) });
    await assert.rejects(ready, /would not reach pods.*set mountPropagation: Bidirectional for it/);
  });

testAsRoot('the node sees the mounts of an agent in a pod with Bidirectional', async t => {
  const { node, inPod } = openShared(t);
  const { agent, kubelet } = await runNode(t, {}, { node, by: inPod('shared') });
  await kubelet.runPod({ uid: 'pod', volumes: [node.makeVolume('v')] });
  assert.equal(mountsBelow(node.root).length, 3);
  await kubelet.drain();
  assert.deepEqual(mountsBelow(node.root), [node.root]);
  await agent.end();
});
