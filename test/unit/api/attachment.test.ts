import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { canonicalAddress, canonicalHost } from '../../../src/api/attachments/addresses.ts';
import {
  areAddresses,
  attachmentFields,
  commonAttachmentFields,
  fromPublishContext,
  toPublishContext,
  isSameReach,
  type Attachment,
  type AttachmentOf,
  type FieldKind,
  type Protocol,
} from '../../../src/api/attachment.ts';
import { attachmentSchema } from '../../../src/api/node.ts';

const port = fc.integer({ min: 1, max: 65_535 });
const address = fc
  .tuple(fc.oneof(fc.ipV4(), fc.constantFrom('[2001:db8::7]', '[::1]', '[fe80::1:2]')), port)
  .map(([ip, number]) => `${ip}:${number}`);

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
const values = {
  text,
  'identity?': fc.stringMatching(/^[A-Za-z0-9.:_-]{1,60}$/),
  path: fc.string({ unit: 'grapheme', maxLength: 59 }).map(rest => `/${rest.replaceAll('\0', '')}`),
  bytes: fc.maxSafeNat(),
  flag: fc.boolean(),
  'flag?': fc.boolean(),
  'limit?': fc.maxSafeNat().filter(limit => limit > 0),
  'turn?': fc.nat({ max: 2_879 }),
  'text?': text,
  'encryption?': fc.constant('luks'),
  lun: fc.integer({ min: 0, max: 16_383 }),
  addresses: fc.uniqueArray(address, { minLength: 1, maxLength: 16 }),
};

const attachmentOver = (protocol: Protocol): fc.Arbitrary<Attachment> => {
  const kinds = Object.entries<FieldKind>({ ...commonAttachmentFields, ...attachmentFields[protocol] });
  const fields = kinds.map(([key, kind]): [string, fc.Arbitrary<unknown>] => [key, values[kind]]);
  fields.push(['protocol', fc.constant(protocol)]);
  const requiredKeys = ['protocol', ...kinds.filter(([, kind]) => !kind.endsWith('?')).map(([key]) => key)];
  return (
    fc
      .record<Record<string, unknown>>(Object.fromEntries(fields), { noNullPrototype: true, requiredKeys })
      // The tables of fields decide the type, as for the schema.
      .map(record => record as unknown as Attachment)
  );
};

for (const protocol of Object.keys(attachmentFields) as Protocol[]) {
  test(`every attachment over ${protocol} is unchanged after a publish context`, () => {
    fc.assert(
      fc.property(attachmentOver(protocol), attachment => {
        assert.deepEqual(fromPublishContext(toPublishContext(attachment)), attachment);
        assert.deepEqual(attachmentSchema.parse(attachment), attachment);
      }),
    );
  });
}

const common = { attachmentId: 'x1', sizeBytes: '1048576', readonly: 'false', mayFormat: 'true' };
const loop = { ...common, protocol: 'loop', path: '/images/a.pvc-1' };
const iscsi = {
  ...common,
  protocol: 'iscsi',
  portals: '192.0.2.7:3260,[2001:db8::7]:3260',
  target: 'iqn.2003-01.org.example:t',
  lun: '0',
  wwid: 'naa.6001405000000000',
};
const tooMany = Array.from({ length: 17 }, (_, index) => `192.0.2.${index}:3260`).join(',');
const badPortals = [
  '',
  '192.0.2.7',
  '192.0.2.7:0',
  '192.0.2.7:65536',
  '192.0.2.7:3260,',
  '192.0.2.7:3260,192.0.2.7:3260',
  '2001:db8::7:3260',
  '-a:3260',
  tooMany,
];

type Row = readonly [good: Record<string, string>, field: string, given: readonly string[]];

const bad: readonly Row[] = [
  [loop, 'protocol', ['', 'floppy', 'constructor']],
  [loop, 'host', ['of another protocol']],
  [loop, 'attachmentId', ['']],
  [loop, 'path', ['', 'volumes/one', '/volumes/\0one']],
  [loop, 'sizeBytes', ['', '-1', '1.5', '0x10', ' 1', '9007199254740993']],
  [loop, 'readonly', ['', '1']],
  [loop, 'mayFormat', ['', 'TRUE']],
  [iscsi, 'lun', ['', '-1', '16384', '1.5', 'a']],
  [iscsi, 'wwid', ['']],
  [iscsi, 'portals', badPortals],
];

for (const [good, field, given] of bad)
  test(`a publish context and a schema refuse an invalid ${field} of ${good['protocol']}`, () => {
    const attachment = fromPublishContext(good);
    assert.ok(attachmentSchema.safeParse(attachment).success);
    for (const value of given) {
      assert.throws(
        () => fromPublishContext({ ...good, [field]: value }),
        { code: 'INVALID_ARGUMENT' },
        value,
      );
      const parts = field === 'portals' ? value.split(',') : value;
      const typed = field === 'lun' && value !== '' ? Number(value) : parts;
      assert.ok(!attachmentSchema.safeParse({ ...attachment, [field]: typed }).success, value);
    }
  });

for (const [change, detail] of [
  [{ protocol: undefined }, 'the publish context has no protocol'],
  [{ protocol: 'floppy' }, 'the publish context has the unknown protocol "floppy"'],
  [
    { protocol: 'nbd' },
    'the publish context has the protocol "nbd", which is no longer offered: detach the volume and attach it again',
  ],
  [{ host: 'h', ip: 'i' }, 'the publish context has the unknown fields "host", "ip"'],
  [{ path: undefined }, 'the publish context has no path'],
  [{ sizeBytes: '1.5' }, 'the publish context has a sizeBytes of "1.5", which is not a number of bytes'],
] as const)
  test(`an error says that ${detail}`, () => {
    const given = JSON.parse(JSON.stringify({ ...loop, ...change })) as Record<string, string>;
    assert.throws(() => fromPublishContext(given), { code: 'INVALID_ARGUMENT', detail });
  });

test('an attachment of more than 4096 bytes is refused, counted in bytes and not in characters', () => {
  const attachment = fromPublishContext(loop) as AttachmentOf<'loop'>;
  const bytesOf = (path: string): number =>
    Buffer.byteLength(
      Object.entries(toPublishContext({ ...attachment, path }))
        .flat()
        .join(''),
    );
  const spare = 4096 - bytesOf('');
  assert.equal(bytesOf('x'.repeat(spare)), 4096);
  assert.throws(() => bytesOf(`${'x'.repeat(spare - 1)}é`), { code: 'UNAVAILABLE', detail: /4097 bytes/ });
});

test('optional fields of an attachment are absent if they were not given', () => {
  assert.deepEqual(Object.keys(fromPublishContext(iscsi)).includes('serial'), false);
  assert.deepEqual(toPublishContext(fromPublishContext(iscsi)), iscsi);
});

test('two attachments reach the same volume even if they name different addresses', () => {
  const one = fromPublishContext(iscsi);
  const isSame = (change: object): boolean => isSameReach(one, fromPublishContext({ ...iscsi, ...change }));
  assert.ok(isSame({ portals: '192.0.2.8:3260', attachmentId: 'x2' }));
  assert.ok(!isSame({ lun: '1' }) && !isSame({ target: 'iqn.2003-01.org.example:other' }));
  assert.ok(!isSameReach(one, fromPublishContext(loop)));
});

test('an attachment with unsealed secrets becomes no publish context', () => {
  const attachment = { ...fromPublishContext(iscsi), secrets: { 'node.session.auth.password': 'canary' } };
  assert.throws(() => toPublishContext(attachment), { code: 'UNAVAILABLE', detail: /^[^]*(?<!canary[^]*)$/ });
});

/** Spellings of one address, and similar texts of other addresses. */
const spellings: readonly (readonly [texts: readonly string[], others: readonly string[]])[] = [
  [
    ['[fd00::1]:3260', '[fd00:0:0::1]:3260', '[FD00:0:0:0:0:0:0:0001]:3260'],
    ['[fd00::1]:3261', '[fd00::10]:3260', '[fd00:1::1]:3260'],
  ],
  [
    ['192.0.2.1:3260', '[::ffff:192.0.2.1]:3260', '[::FFFF:c000:0201]:3260'],
    ['192.0.2.10:3260', '[::192.0.2.1]:3260'],
  ],
];

test('an address is the same in every spelling, and a list has it only once', () => {
  for (const [texts, others] of spellings) {
    for (const one of texts)
      for (const other of texts) {
        assert.equal(canonicalAddress(one), canonicalAddress(other));
        assert.equal(areAddresses([one, other]), false, `${one} ${other}`);
      }
    for (const other of others) assert.ok(areAddresses([texts[0] ?? '', other]), other);
  }
  assert.throws(() => fromPublishContext({ ...iscsi, portals: '[fd00::1]:3260,[fd00:0::1]:3260' }), {
    code: 'INVALID_ARGUMENT',
  });
  for (const name of ['Host.example', 'a', '10.0.0.1']) assert.equal(canonicalHost(name), name);
});
