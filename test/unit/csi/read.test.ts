import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemCode } from '../../../src/api/problem.ts';
import type { VolumeCapability__Output } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import {
  readCapabilities,
  readCapability,
  readCapacityRange,
  readId,
  readMap,
  readName,
  readNodeId,
} from '../../../src/csi/request.ts';

type Bad = readonly [name: string, read: () => unknown, says: RegExp, code?: ProblemCode];

const mode = (value: unknown): VolumeCapability__Output['access_mode'] =>
  ({ mode: value }) as VolumeCapability__Output['access_mode'];
const access_mode = mode('SINGLE_NODE_WRITER');
const block: VolumeCapability__Output = { block: {}, access_type: 'block', access_mode };
const mount = (fields: object): VolumeCapability__Output => ({
  mount: { fs_type: '', mount_flags: [], volume_mount_group: '', ...fields },
  access_type: 'mount',
  access_mode,
});
const range = (required_bytes: string, limit_bytes: string): unknown =>
  readCapacityRange({ required_bytes, limit_bytes });

const bad: readonly Bad[] = [
  ['an id that is missing', () => readId('', 'volume_id'), /^volume_id is missing$/],
  [
    'an id of 129 bytes',
    () => readId('x'.repeat(129), 'volume_id'),
    /^volume_id has 129 bytes, more than the 128 allowed$/,
  ],
  ['an id of 129 bytes in fewer characters', () => readId(`${'é'.repeat(64)}x`, 'volume_id'), /129 bytes/],
  ['a name that is missing', () => readName(''), /^name is missing$/],
  ['a name with a NUL', () => readName('a\0b'), /^name has control characters$/],
  ['a name with a DEL', () => readName('a\x7F'), /control characters/],
  ['a name with a C1 control', () => readName('a\x85'), /control characters/],
  [
    'a node id of 257 bytes',
    () => readNodeId('n'.repeat(257)),
    /^node_id has 257 bytes, more than the 256 allowed$/,
  ],
  [
    'a map of 4,097 bytes',
    () => readMap({ k: 'x'.repeat(4_096) }, 'parameters'),
    /^parameters has 4097 bytes/,
  ],
  ['a map of long keys', () => readMap({ ['k'.repeat(4_097)]: '' }, 'parameters'), /4097 bytes/],
  [
    'a map of 4,098 bytes in fewer characters',
    () => readMap({ kk: 'é'.repeat(2_048) }, 'parameters'),
    /4098 bytes/,
  ],
  ['no capability', () => readCapability(null), /^volume_capability is missing$/],
  ['no capability at all', () => readCapability(undefined), /^volume_capability is missing$/],
  ['no access mode', () => readCapability({ ...block, access_mode: null }), /has no access mode/],
  [
    'the access mode UNKNOWN',
    () => readCapability({ ...block, access_mode: mode('UNKNOWN') }),
    /has no access mode/,
  ],
  [
    'an access mode of a later version',
    () => readCapability({ ...block, access_mode: mode(99) }),
    /unknown access mode 99/,
  ],
  ['neither block nor mount', () => readCapability({ access_mode }), /neither block nor mount/],
  [
    'a mount group',
    () => readCapability(mount({ volume_mount_group: '1000' })),
    /volume_mount_group, which this driver does not offer/,
  ],
  [
    'a filesystem with a name of 129 bytes',
    () => readCapability(mount({ fs_type: 'x'.repeat(129) })),
    /mount\.fs_type has 129 bytes/,
  ],
  [
    'mount flags of 4,097 bytes together',
    () => readCapability(mount({ mount_flags: ['x'.repeat(4_096), 'y'] })),
    /mount_flags of 4097 bytes/,
  ],
  ['no capabilities', () => readCapabilities([]), /^volume_capabilities is missing$/],
  [
    'a second capability that is bad',
    () => readCapabilities([block, { access_mode }]),
    /^volume_capabilities\[1\] has no access type/,
  ],
  ['a capacity range of nothing', () => range('0', '0'), /neither required_bytes nor limit_bytes/],
  ['a negative requirement', () => range('-1', '0'), /required_bytes is -1, less than 0/],
  ['a negative limit', () => range('1', '-1'), /limit_bytes is -1, less than 0/],
  ['a limit below the requirement', () => range('2', '1'), /requires 2 bytes but limits them to 1/],
  [
    'a requirement beyond 2^53',
    () => range('9007199254740992', '0'),
    /more than any volume can have/,
    'OUT_OF_RANGE',
  ],
  [
    'the largest requirement there is',
    () => range('9223372036854775807', '9223372036854775807'),
    /9223372036854775807/,
    'OUT_OF_RANGE',
  ],
];

for (const [name, read, says, code = 'INVALID_ARGUMENT'] of bad) {
  test(`${name} is ${code}`, () => assert.throws(read, { name: 'Problem', code, detail: says }));
}

type Good = readonly [name: string, read: () => unknown, expected: unknown];

const good: readonly Good[] = [
  ['an id of 128 bytes', () => readId('é'.repeat(64), 'volume_id'), 'é'.repeat(64)],
  ['a name with white space', () => readName('a b\tc\nd'), 'a b\tc\nd'],
  ['no node id', () => readNodeId(''), ''],
  ['a map of 4,096 bytes', () => readMap({ k: 'x'.repeat(4_095) }, 'parameters'), { k: 'x'.repeat(4_095) }],
  [
    'a block capability',
    () => readCapability(block),
    { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
  ],
  [
    'a bare mount',
    () => readCapability(mount({})),
    { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' },
  ],
  [
    'a mount with all',
    () => readCapability(mount({ fs_type: 'xfs', mount_flags: ['noatime'] })),
    { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'xfs', mountFlags: ['noatime'] },
  ],
  ['no range', () => readCapacityRange(null), { requiredBytes: 0, limitBytes: 0 }],
  ['a range', () => range('1', '2'), { requiredBytes: 1, limitBytes: 2 }],
  ['a limit alone', () => range('0', '2'), { requiredBytes: 0, limitBytes: 2 }],
  [
    'a limit beyond 2^53, which limits nothing',
    () => range('1', '9223372036854775807'),
    { requiredBytes: 1, limitBytes: Number.MAX_SAFE_INTEGER },
  ],
];

for (const [name, read, expected] of good) {
  test(`${name} is read`, () => assert.deepEqual(read(), expected));
}
