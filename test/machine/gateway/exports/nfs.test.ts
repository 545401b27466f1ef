import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exports } from '../../../../gateway/exports/index.ts';
import { openRecords } from '../../../../gateway/exports/nfs/records.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { directoryOf } from '../../../harness/machine.ts';

const poolKey = async () => new Uint8Array(32);
const context = { kind: 'directory', root: '/srv/files', log: silentLog, poolKey } as const;
async function faultsOf(root: string): Promise<string> {
  const settings = exports.nfs.settings.parse({ protocol: 'nfs', addresses: ['192.0.2.1'] });
  const exported = await exports.nfs.open(settings, { ...context, root });
  return ((await exported.check?.()) ?? []).join();
}

function accepts(addresses: readonly string[]): boolean {
  return exports.nfs.settings.safeParse({ protocol: 'nfs', addresses }).success;
}

const volume = { id: 'a.one', nonce: 'first', path: '/srv/files/a.one', sizeBytes: 2 ** 20 };
const access = {
  nodeId: 'n1',
  cluster: 'a',
  attachmentId: 'one',
  capability: { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' },
  readonly: false,
} as const;

test('a node without a reported address, or only with addresses of another kind, is refused', async () => {
  const rows = [
    { addresses: undefined, detail: /^node "n1" has reported no address/ },
    {
      addresses: ['2001:db8::7'],
      detail: /^node "n1" has the addresses 2001:db8::7, and none is of the kind/,
    },
  ];
  const exported = await exports.nfs.open({ protocol: 'nfs', addresses: ['192.0.2.1'] }, context);
  for (const { addresses, detail } of rows)
    await assert.rejects(exported.publish(volume, { ...access, ...(addresses && { addresses }) }), {
      code: 'FAILED_PRECONDITION',
      detail,
    });
});

test('the check names a directory that cannot be exported', async () => {
  assert.match(await faultsOf('/srv/my files'), /cannot be exported over NFS/);
  assert.doesNotMatch(await faultsOf('/srv/files'), /over NFS/);
});

test('only addresses without a port are addresses of the export', () => {
  assert.deepEqual(
    [['192.0.2.1'], ['2001:db8::1'], ['192.0.2.1:2049'], ['box.example'], ['192.0.2.0/24'], []].map(accepts),
    [true, true, false, false, false, false],
  );
});

test('the server reads the file of an export, and no longer that of a closed one', async t => {
  const directory = directoryOf(t);
  const records = openRecords(directory);
  const record = {
    path: '/srv/files/a.one',
    clients: ['192.0.2.7', '2001:db8::7'],
    fsid: 'own',
    options: 'rw,fsid=own',
  };
  await records.write('one', record);
  const [file = ''] = readdirSync(directory);
  assert.match(file, /\.exports$/);
  const lines = readFileSync(`${directory}/${file}`, 'utf8').split('\n');
  assert.deepEqual(
    lines.filter(line => line !== '' && !line.startsWith('#')),
    ['/srv/files/a.one 192.0.2.7(rw,fsid=own) 2001:db8::7(rw,fsid=own)'],
  );
  await records.close('one');
  assert.ok(!readdirSync(directory).some(name => name.endsWith('.exports')));
  assert.deepEqual(await records.find('one'), { name: 'one', isClosed: true, record });
  for (let count = 0; count < 2; count++) {
    await records.close('one');
    await records.remove('one');
    assert.deepEqual(await records.all(), []);
  }
});
