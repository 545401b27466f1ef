import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { readPersistentVolume } from '../../../src/cli/commands/admin/persistent-volume.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

const spec = {
  capacity: { storage: '10Gi' },
  accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
  mountOptions: ['noatime'],
  csi: { driver: 'old.example', volumeHandle: 'vol-1', volumeAttributes: { tier: 'a' }, fsType: 'xfs' },
};
const zoneOf = (...values: readonly string[]) => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'old.example/zone', operator: 'In', values }] }],
  },
});

test('the PersistentVolume of a driver tells the volume, its size, its uses and its topology', t => {
  const read = (change: object) =>
    readPersistentVolume(write(t, stringify({ kind: 'PersistentVolume', spec: { ...spec, ...change } })));
  const mount = { accessType: 'mount', fsType: 'xfs', mountFlags: ['noatime'] };
  assert.deepEqual(read({ nodeAffinity: zoneOf('z1') }), {
    existing: { driver: 'old.example', handle: 'vol-1', context: { tier: 'a' } },
    sizeBytes: 10 * 2 ** 30,
    isReadOnly: false,
    capabilities: [
      { ...mount, accessMode: 'SINGLE_NODE_WRITER' },
      { ...mount, accessMode: 'MULTI_NODE_READER_ONLY' },
    ],
    topology: { 'old.example/zone': 'z1' },
  });
  const { capabilities } = read({ accessModes: ['ReadWriteOncePod'], volumeMode: 'Block' });
  assert.deepEqual(capabilities, [{ accessType: 'block', accessMode: 'SINGLE_NODE_SINGLE_WRITER' }]);
  assert.throws(() => read({ csi: undefined }), /pv\.yaml" cannot be imported: spec\.csi: is missing/);
  assert.throws(() => read({ nodeAffinity: zoneOf('z1', 'z2') }), /cannot be imported: spec\.nodeAffinity/);
  assert.deepEqual(
    ['10G', 4096].map(storage => read({ capacity: { storage } }).sizeBytes),
    [10 ** 10, 4096],
  );
  assert.throws(
    () => read({ capacity: { storage: '1.5Gi' } }),
    /imported: spec\.capacity\.storage: "1\.5Gi" is/,
  );
  assert.throws(() => read({ capacity: {} }), /imported: spec\.capacity\.storage: is missing/);
});

test('a volume that is only read stays so, and is refused with a mode for writers', t => {
  const csi = { ...spec.csi, readOnly: true };
  const path = write(t, stringify({ kind: 'PersistentVolume', spec: { ...spec, csi } }));
  assert.throws(() => readPersistentVolume(path), /imported: spec\.csi\.readOnly: needs ReadOnlyMany alone/);
  const readers = { ...spec, csi, accessModes: ['ReadOnlyMany'] };
  const other = write(t, stringify({ kind: 'PersistentVolume', spec: readers }));
  assert.equal(readPersistentVolume(other).isReadOnly, true);
});

test('a manifest that is missing, is no YAML, or has several documents is named with its fault', t => {
  const none = join(temporaryDirectory(t), 'none.yaml');
  assert.throws(() => readPersistentVolume(none), /^Error: cannot read ".*none\.yaml": it does not exist/);
  for (const [text, fault] of [
    ['a: [', /^Error: cannot read ".*pv\.yaml":\d+:\d+: /],
    ['a: *b', /^Error: cannot read ".*pv\.yaml".*: an alias/],
    ['kind: a\n---\nkind: b\n', /^Error: cannot read ".*pv\.yaml":\d+:\d+: .* begins a second document/],
    ['', /pv\.yaml" cannot be imported: the document: must be an object/],
  ] as const)
    assert.throws(() => readPersistentVolume(write(t, text)), fault);
});

function write(t: TestContext, text: string): string {
  const path = join(temporaryDirectory(t), 'pv.yaml');
  writeFileSync(path, text);
  return path;
}
