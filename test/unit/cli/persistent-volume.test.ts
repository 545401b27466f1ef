import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
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
  const read = (change: object) => {
    const path = join(temporaryDirectory(t), 'pv.yaml');
    writeFileSync(path, stringify({ kind: 'PersistentVolume', spec: { ...spec, ...change } }));
    return readPersistentVolume(path);
  };
  const mount = { accessType: 'mount', fsType: 'xfs', mountFlags: ['noatime'] };
  assert.deepEqual(read({ nodeAffinity: zoneOf('z1') }), {
    existing: { driver: 'old.example', handle: 'vol-1', context: { tier: 'a' } },
    sizeBytes: 10 * 2 ** 30,
    capabilities: [
      { ...mount, accessMode: 'SINGLE_NODE_WRITER' },
      { ...mount, accessMode: 'MULTI_NODE_READER_ONLY' },
    ],
    topology: { 'old.example/zone': 'z1' },
  });
  const { capabilities } = read({ accessModes: ['ReadWriteOncePod'], volumeMode: 'Block' });
  assert.deepEqual(capabilities, [{ accessType: 'block', accessMode: 'SINGLE_NODE_SINGLE_WRITER' }]);
  assert.throws(() => read({ csi: undefined }), /pv\.yaml" is not the .* of a CSI driver: spec\.csi/);
  assert.throws(() => read({ nodeAffinity: zoneOf('z1', 'z2') }), /spec\.nodeAffinity/);
});
