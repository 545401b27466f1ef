import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FakeHost } from '../../fakes/host.ts';
import { openFakeBench } from '../../harness/node-agent-bench.ts';

const calls: Readonly<Record<string, (host: FakeHost, path: string) => Promise<unknown>>> = {
  readText: (host, path) => host.readText(path),
  isThere: (host, path) => host.isThere(path),
  kindOf: (host, path) => host.kindOf(path),
  realPath: (host, path) => host.realPath(path),
  list: (host, path) => host.list(path),
  makeDirectory: (host, path) => host.makeDirectory(path),
  makeFile: (host, path) => host.makeFile(path),
  removeDirectory: (host, path) => host.removeDirectory(path),
  removeFile: (host, path) => host.removeFile(path),
  writeDurably: (host, path) => host.writeDurably(path, ''),
};

for (const [name, call] of Object.entries(calls))
  test(`the fake machine refuses ${name} at and below what is mounted, and nowhere else`, async () => {
    const { host, directory } = openFakeBench();
    const path = `${directory}/stage/v`;
    await host.makeDirectory(path);
    const mount = { id: 1, parentId: 0, device: '0:9', root: '/', path, options: [], superOptions: [] };
    host.state.mounts.push({ ...mount, type: 'nfs4', source: 'server:/x' });
    for (const place of [path, `${path}/deep/er`])
      await assert.rejects(call(host, place), {
        message: /in the agent itself, where "\/bench\/stage\/v" is/,
      });
    await call(host, `${path}2`);
  });

test('every call of the fake machine but commands and mountinfo is refused so', () => {
  const { host } = openFakeBench();
  const others = new Set(['state', 'steps', 'failAt', 'run', 'mounts']);
  assert.deepEqual(
    Object.keys(host).filter(key => !others.has(key)),
    Object.keys(calls),
  );
});
