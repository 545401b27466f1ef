import assert from 'node:assert/strict';
import { test } from 'node:test';
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
const long = 'x'.repeat(4_096);
const biggest = '9223372036854775807';

type BadField = readonly [name: string, read: () => unknown, says: RegExp];

const bad: readonly BadField[] = [
  ['an id that is missing', () => readId('', 'volume_id'), /^volume_id is missing$/],
  ['an id of 129 bytes in fewer characters', () => readId(`${'é'.repeat(64)}x`, 'id'), /^id has 129 bytes/],
  ['a name that is missing', () => readName(''), /^name is missing$/],
  ['a name with a NUL', () => readName('a\0b'), /^name has control characters; remove them$/],
  ['a name with a DEL', () => readName('a\x7F'), /control characters/],
  ['a name with a C1 control', () => readName('a\x85'), /control characters/],
  ['a node id of 257 bytes', () => readNodeId('n'.repeat(257)), /has 257 bytes, more than the 256 allowed$/],
  ['a map of 4,097 bytes', () => readMap({ k: long }, 'parameters'), /^parameters has 4097 bytes/],
  ['a map of long keys', () => readMap({ [`k${long}`]: '' }, 'parameters'), /4097 bytes/],
  ['a map of bytes in fewer characters', () => readMap({ kk: 'é'.repeat(2_048) }, 'map'), /4098 bytes/],
  ['a capability of null', () => readCapability(null), /^volume_capability is missing$/],
  ['no capability', () => readCapability(undefined), /^volume_capability is missing$/],
  ['no access mode', () => readCapability({ ...block, access_mode: null }), /has no access mode/],
  ['UNKNOWN', () => readCapability({ ...block, access_mode: mode('UNKNOWN') }), /has no access mode/],
  ['a later mode', () => readCapability({ ...block, access_mode: mode(99) }), /unknown access mode 99/],
  ['neither block nor mount', () => readCapability({ access_mode }), /no access type; set block or mount/],
  [
    'a mount group',
    () => readCapability(mount({ volume_mount_group: '1' })),
    /group "1", which this driver does not support/,
  ],
  ['a long filesystem', () => readCapability(mount({ fs_type: long })), /mount\.fs_type has 4096 bytes/],
  ['mount flags of 4,097 bytes', () => readCapability(mount({ mount_flags: [long, 'y'] })), /4097 bytes/],
  ['no capabilities', () => readCapabilities([]), /^volume_capabilities is missing$/],
  [
    'a second one that is bad',
    () => readCapabilities([block, { access_mode }]),
    /^volume_capabilities\[1\] has/,
  ],
  ['a capacity range of nothing', () => range('0', '0'), /neither required_bytes nor limit_bytes/],
  ['a negative requirement', () => range('-1', '0'), /required_bytes is -1; use 0 or more/],
  ['a negative limit', () => range('1', '-1'), /limit_bytes is -1; use 0 or more/],
  [
    'a limit below the requirement',
    () => range('2', '1'),
    /requires 2 bytes but limits the size to 1; raise the limit/,
  ],
];

for (const [name, read, detail] of bad)
  test(`${name} is INVALID_ARGUMENT`, () => assert.throws(read, { code: 'INVALID_ARGUMENT', detail }));

test('a requirement beyond 2^53 is OUT_OF_RANGE', () => {
  const detail = /more than any volume can have/;
  assert.throws(() => range('9007199254740992', '0'), { code: 'OUT_OF_RANGE', detail });
  assert.throws(() => range(biggest, biggest), { code: 'OUT_OF_RANGE', detail });
});

const used = { accessMode: 'SINGLE_NODE_WRITER' };

type GoodField = readonly [name: string, read: () => unknown, expected: unknown];

const good: readonly GoodField[] = [
  ['an id of 128 bytes', () => readId('é'.repeat(64), 'volume_id'), 'é'.repeat(64)],
  ['a name with white space', () => readName('a b\tc\nd'), 'a b\tc\nd'],
  ['no node id', () => readNodeId(''), ''],
  ['a map of 4,096 bytes', () => readMap({ '': long }, 'parameters'), { '': long }],
  ['a block capability', () => readCapability(block), { accessType: 'block', ...used }],
  ['a bare mount', () => readCapability(mount({})), { accessType: 'mount', ...used }],
  [
    'a mount with all',
    () => readCapability(mount({ fs_type: 'xfs', mount_flags: ['noatime'] })),
    { accessType: 'mount', ...used, fsType: 'xfs', mountFlags: ['noatime'] },
  ],
  ['no range', () => readCapacityRange(null), { requiredBytes: 0, limitBytes: 0 }],
  ['a range', () => range('1', '2'), { requiredBytes: 1, limitBytes: 2 }],
  ['a limit alone', () => range('0', '2'), { requiredBytes: 0, limitBytes: 2 }],
  ['no limit', () => range('1', biggest), { requiredBytes: 1, limitBytes: Number.MAX_SAFE_INTEGER }],
];

for (const [name, read, expected] of good) test(`${name} is read`, () => assert.deepEqual(read(), expected));
