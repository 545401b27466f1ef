import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { test } from 'node:test';
import { inspectPath, readPath, realOf } from '../../../../node-agent/volumes/target-path.ts';
import { stage } from '../../../../node-agent/volumes/stage.ts';
import { openFakeBench, openRealBench, openNode } from '../../../harness/node.ts';

const base = { named: '/var/lib/kubelet', real: '/var/lib/kubelet' };

const malformed: Readonly<Record<string, string>> = {
  '': 'is missing',
  'pods/x': 'is not absolute',
  '/var/lib/kubelet/../etc': 'is not normalized',
  '/var/lib/kubelet/pods/./x': 'is not normalized',
  '/var/lib/kubelet//pods': 'is not normalized',
  '/var/lib/kubelet//': 'is not normalized',
  '/': 'is not normalized',
  '/var/lib/kubelet/a\0b': 'holds a NUL character',
  '/var/lib/kubelet': 'does not lie below',
  '/var/lib/kubelet2/x': 'does not lie below',
  '/etc/passwd': 'does not lie below',
  [`/var/lib/kubelet/${'x/'.repeat(2_100)}x`]: 'more than the 4095 allowed',
};

for (const [path, fault] of Object.entries(malformed)) {
  test(`the path ${JSON.stringify(path.slice(0, 40))} is INVALID_ARGUMENT: ${fault}`, () => {
    assert.throws(() => readPath(path, 'target_path', base), {
      code: 'INVALID_ARGUMENT',
      message: new RegExp(`^target_path.* ${fault}`),
    });
  });
}

test('a path of more than 128 bytes and one with a slash at its end are accepted', () => {
  const long = `/var/lib/kubelet/${'x'.repeat(200)}/${'y'.repeat(200)}`;
  assert.equal(readPath(long, 'target_path', base), long);
  assert.equal(readPath('/var/lib/kubelet/pods/', 'target_path', base), '/var/lib/kubelet/pods');
});

test('a base that is a symbolic link is followed as mountinfo follows it', () => {
  const linked = { named: '/var/lib/kubelet', real: '/data/kubelet' };
  assert.equal(readPath('/var/lib/kubelet/pods/x', 'target_path', linked), '/data/kubelet/pods/x');
  assert.equal(realOf('/var/lib/kubelet/pods/x', linked), '/data/kubelet/pods/x');
  assert.equal(realOf('/var/lib/kubelet/pods/x/', linked), '/data/kubelet/pods/x');
  assert.equal(realOf('some/path', linked), 'some/path');
});

test('the base / allows any path', () => {
  assert.equal(readPath('/tmp/x', 'target_path', { named: '/', real: '/' }), '/tmp/x');
});

test('a symbolic link in any component is INVALID_ARGUMENT and is named', async t => {
  const { directory, host } = openRealBench(t);
  mkdirSync(`${directory}/pods/real`);
  symlinkSync(`${directory}/pods/real`, `${directory}/pods/link`);
  const agent = { host, base: { named: directory, real: directory } };
  for (const path of [`${directory}/pods/link`, `${directory}/pods/link/x`]) {
    await assert.rejects(inspectPath(agent, { field: 'target_path', path }, []), {
      code: 'INVALID_ARGUMENT',
      message: `target_path "${path}" has the symbolic link "${directory}/pods/link" in it`,
    });
  }
});

test('a mountpoint itself is not examined, and paths below it are refused', async () => {
  const { agent, request } = await openNode(openFakeBench());
  await stage(agent, request);
  const mounts = await agent.host.mounts();
  // The fake machine refuses calls on mounted paths.
  const look = (path: string) => inspectPath(agent, { field: 'target_path', path }, mounts);
  assert.equal((await look(request.stagingPath)).kind, 'mountpoint');
  await assert.rejects(look(`${request.stagingPath}/x`), { code: 'FAILED_PRECONDITION' });
});
