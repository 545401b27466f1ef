import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
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

const values = {
  text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  path: fc.string({ unit: 'grapheme', maxLength: 59 }).map(rest => `/${rest.replaceAll('\0', '')}`),
  bytes: fc.maxSafeNat(),
  flag: fc.boolean(),
  host: fc.oneof(fc.domain(), fc.ipV4(), fc.constantFrom('2001:db8::7', '::1', 'a')),
  port,
  lun: fc.integer({ min: 0, max: 16_383 }),
  addresses: fc.uniqueArray(address, { minLength: 1, maxLength: 16 }),
};

const protocols = Object.keys(attachmentFields) as Protocol[];

const attachmentOver = (protocol: Protocol): fc.Arbitrary<Attachment> => {
  const kinds = Object.entries<FieldKind>({ ...commonAttachmentFields, ...attachmentFields[protocol] });
  const fields = kinds.map(([key, kind]): [string, fc.Arbitrary<unknown>] => [
    key,
    kind === 'text?' ? values.text : values[kind],
  ]);
  fields.push(['protocol', fc.constant(protocol)]);
  const requiredKeys = ['protocol', ...kinds.filter(([, kind]) => kind !== 'text?').map(([key]) => key)];
  return fc
    .record<Record<string, unknown>>(Object.fromEntries(fields), { noNullPrototype: true, requiredKeys })
    .map(record => record as unknown as Attachment);
};

for (const protocol of protocols) {
  test(`every attachment over ${protocol} comes out of a publish context as it went in`, () => {
    fc.assert(
      fc.property(attachmentOver(protocol), attachment => {
        assert.deepEqual(fromPublishContext(toPublishContext(attachment)), attachment);
        assert.deepEqual(attachmentSchema.parse(attachment), attachment);
      }),
    );
  });
}

const context = {
  protocol: 'loop',
  attachmentId: 'x1',
  sizeBytes: '1048576',
  readonly: 'false',
  mayFormat: 'true',
  path: '/images/a.pvc-1',
};

type Row = readonly [name: string, change: Record<string, string | undefined>, says: RegExp];

const bad: readonly Row[] = [
  ['no protocol', { protocol: undefined }, /has no protocol/],
  ['an empty protocol', { protocol: '' }, /unknown protocol ""/],
  ['an unknown protocol', { protocol: 'floppy' }, /unknown protocol "floppy"/],
  ['a protocol named as a property of every object', { protocol: 'constructor' }, /unknown protocol/],
  ['an unknown field', { host: 'h' }, /unknown fields "host"/],
  ['no attachmentId', { attachmentId: undefined }, /has no attachmentId/],
  ['an empty path', { path: '' }, /has no path/],
  ['no path', { path: undefined }, /has no path/],
  ['no sizeBytes', { sizeBytes: undefined }, /has no sizeBytes/],
  ['a negative size', { sizeBytes: '-1' }, /sizeBytes of "-1"/],
  ['a fraction as size', { sizeBytes: '1.5' }, /sizeBytes of "1.5"/],
  ['a hexadecimal size', { sizeBytes: '0x10' }, /sizeBytes of "0x10"/],
  ['a size with white space', { sizeBytes: ' 1' }, /sizeBytes of " 1"/],
  ['a size beyond 2^53', { sizeBytes: '9007199254740993' }, /not a number of bytes/],
  ['no readonly', { readonly: undefined }, /has no readonly/],
  ['a readonly of 1', { readonly: '1' }, /neither true nor false/],
  ['a mayFormat of TRUE', { mayFormat: 'TRUE' }, /neither true nor false/],
  ['no mayFormat', { mayFormat: undefined }, /has no mayFormat/],
];

test('the context that the bad ones are made from is good', () => {
  assert.equal(fromPublishContext(context).sizeBytes, 1_048_576);
});

for (const [name, change, says] of bad) {
  test(`a publish context with ${name} is INVALID_ARGUMENT`, () => {
    const given = Object.fromEntries(
      Object.entries({ ...context, ...change }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    );
    assert.throws(() => fromPublishContext(given), { code: 'INVALID_ARGUMENT', detail: says });
  });
}

test('an attachment of more than 4096 bytes is refused, counted in bytes and not in characters', () => {
  const attachment = fromPublishContext(context) as AttachmentOf<'loop'>;
  const spare = 4096 - byteLengthOf(toPublishContext({ ...attachment, path: '/' })) + 1;
  assert.equal(byteLengthOf(toPublishContext({ ...attachment, path: 'x'.repeat(spare) })), 4096);
  const over = { ...attachment, path: `${'x'.repeat(spare - 1)}é` };
  assert.throws(() => toPublishContext(over), { code: 'UNAVAILABLE', detail: /4097 bytes/ });
});

function byteLengthOf(map: Record<string, string>): number {
  return Buffer.byteLength(Object.entries(map).flat().join(''));
}

for (const path of ['volumes/one', '', '/volumes/\0one']) {
  test(`a path of ${JSON.stringify(path)} in a publish context is INVALID_ARGUMENT`, () => {
    assert.throws(() => fromPublishContext({ ...context, path }), { code: 'INVALID_ARGUMENT' });
  });
}

const common = { attachmentId: 'x1', sizeBytes: '1048576', readonly: 'false', mayFormat: 'true' };
const iscsi = {
  ...common,
  protocol: 'iscsi',
  portals: '192.0.2.7:3260,[2001:db8::7]:3260',
  target: 'iqn.2003-01.org.example:t',
  lun: '0',
  wwid: 'naa.6001405000000000',
};
const nbd = { ...common, protocol: 'nbd', server: 'nbd.test', port: '10809', export: 'v' };

test('what may be absent of an attachment is absent where it was not given', () => {
  assert.deepEqual(Object.keys(fromPublishContext(iscsi)).includes('serial'), false);
  assert.deepEqual(toPublishContext(fromPublishContext(iscsi)), iscsi);
});

const badFields: readonly (readonly [
  good: Record<string, string>,
  field: string,
  values: readonly string[],
])[] = [
  [iscsi, 'lun', ['-1', '16384', '1.5', '', 'a']],
  [iscsi, 'wwid', ['']],
  [nbd, 'port', ['0', '65536', '-1', 'nbd', '']],
  [nbd, 'server', ['-v', 'a b', 'a/b', 'a:b:c/d', 'a,b', '[::1]', '']],
  [
    iscsi,
    'portals',
    [
      '',
      '192.0.2.7',
      '192.0.2.7:0',
      '192.0.2.7:65536',
      'portal.test:3260',
      '192.0.2.7:3260,',
      '192.0.2.7:3260,192.0.2.7:3260',
      '2001:db8::7:3260',
      '-a:3260',
      Array.from({ length: 17 }, (_, index) => `192.0.2.${index}:3260`).join(','),
    ],
  ],
];

for (const [good, field, rows] of badFields)
  test(`a publish context and a schema refuse a ${field} that is none`, () => {
    const attachment = fromPublishContext(good);
    assert.ok(attachmentSchema.safeParse(attachment).success);
    for (const row of rows) {
      assert.throws(() => fromPublishContext({ ...good, [field]: row }), { code: 'INVALID_ARGUMENT' }, row);
      const parts = field === 'portals' ? row.split(',') : row;
      const typed = /^(lun|port)$/.test(field) && row !== '' ? Number(row) : parts;
      assert.ok(!attachmentSchema.safeParse({ ...attachment, [field]: typed }).success, row);
    }
  });

test('two attachments reach the same volume whatever the addresses that they name', () => {
  const one = fromPublishContext(iscsi);
  assert.ok(
    isSameReach(one, fromPublishContext({ ...iscsi, portals: '192.0.2.8:3260', attachmentId: 'x2' })),
  );
  assert.ok(!isSameReach(one, fromPublishContext({ ...iscsi, lun: '1' })));
  assert.ok(!isSameReach(one, fromPublishContext({ ...iscsi, target: 'iqn.2003-01.org.example:other' })));
  assert.ok(!isSameReach(one, fromPublishContext(nbd)));
});
