import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nfs } from '../../../../node-agent/connectors/nfs.ts';
import { testShareConnector } from '../../../suites/share-connector.ts';
import { openFakeShares, toExport } from '../../../harness/node/shares.ts';

testShareConnector({
  name: 'nfs on the fake machine',
  connector: nfs,
  open() {
    const bench = openFakeShares();
    return { ...bench, attach: bench.nfs };
  },
});

const { host } = openFakeShares();

test('nfs mounts the path of the server over NFS 4.2', async () => {
  const rows = [
    { server: 'nfs.test', source: 'nfs.test:/export/v' },
    { server: '192.0.2.7', source: '192.0.2.7:/export/v' },
    { server: '2001:db8::7', source: '[2001:db8::7]:/export/v' },
  ];
  for (const { server, source } of rows)
    assert.deepEqual(await nfs.connect(toExport('/export/v', server), host), {
      source,
      type: 'nfs',
      options: ['vers=4.2', 'retry=0'],
    });
});

test('nfs refuses an invalid server or path', async () => {
  for (const server of ['a b', '-o', 'a:/x', 'a,b', '', 'a/b', 'a\nb'])
    await assert.rejects(nfs.connect(toExport('/v', server), host), { code: 'INVALID_ARGUMENT' }, server);
  for (const path of ['v', '', '/', '/a/../b', '/a//b', '/a/.', '/a\nb', '/a\n', '/a\0b'])
    await assert.rejects(nfs.connect(toExport(path), host), { code: 'INVALID_ARGUMENT' }, path);
});

test('nfs names the missing command or kernel module', async () => {
  const { host: bare, nfs: attach } = openFakeShares();
  const { state } = bare;
  state.paths.delete('/sys/module/nfs');
  await nfs.connect(attach('v'), bare);
  assert.ok(state.paths.delete('/sys/module/nfs'));
  state.extra.set('modprobe', () => 1);
  await assert.rejects(nfs.connect(attach('v'), bare), {
    code: 'FAILED_PRECONDITION',
    detail: /kernel of this node has no module "nfs"/,
  });
  state.missing.add('mount.nfs');
  await assert.rejects(nfs.connect(attach('v'), bare), {
    code: 'FAILED_PRECONDITION',
    detail: '"mount.nfs" is not installed on this node',
  });
});

test("nfs identifies a volume's mount only by the server's name and the path", async () => {
  const own = { id: 1, parentId: 0, device: '0:60', root: '/', path: '/x', options: [], superOptions: [] };
  for (const [type, source, judgement] of [
    ['nfs4', 'nfs.test:/export/v', 'own'],
    ['nfs4', 'nfs.test:/export/v/part', 'foreign'],
    ['nfs4', 'nfs.test:/export', 'foreign'],
    ['nfs4', 'other.test:/export/v', 'foreign'],
    ['fuse.sshfs', 'nfs.test:/export/v', 'foreign'],
  ] as const)
    assert.equal(await nfs.judge(toExport('/export/v'), { ...own, type, source }, host), judgement, source);
});
