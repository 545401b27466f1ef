import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFakeBench } from '../../harness/node.ts';

type Call = (path: string, text: string) => Promise<unknown>;

test('the fake machine refuses every call at and below a mount, except commands and mountinfo', async () => {
  const { host, directory } = openFakeBench();
  const { state, run: _run, mounts: _mounts, failAt: _failAt, steps: _steps, ...calls } = host;
  assert.equal(Object.keys(calls).length, 12);
  const path = `${directory}/stage/v`;
  await host.createDirectory(path);
  const mount = { id: 1, parentId: 0, device: '0:9', root: '/', path, options: [], superOptions: [] };
  state.mounts.push({ ...mount, type: 'nfs4', source: 'server:/x' });
  const message = /in the agent itself, where "\/bench\/stage\/v" is/;
  for (const call of Object.values<Call>(calls)) {
    await assert.rejects(call(path, ''), { message });
    await assert.rejects(call(`${path}/deep/er`, ''), { message });
    await call(`${path}2`, '');
  }
});
