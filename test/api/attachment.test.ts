import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  attachmentFields,
  commonAttachmentFields,
  fromPublishContext,
  toPublishContext,
  type Attachment,
  type Protocol,
} from '../../src/api/attachment.ts';
import { attachmentSchema } from '../../src/api/resources.ts';

const values = {
  text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
  path: fc.string({ unit: 'grapheme', maxLength: 59 }).map(rest => `/${rest.replaceAll('\0', '')}`),
  bytes: fc.maxSafeNat(),
  flag: fc.boolean(),
};

const protocols = Object.keys(attachmentFields) as Protocol[];

const attachmentOver = (protocol: Protocol): fc.Arbitrary<Attachment> => {
  const kinds = Object.entries({ ...commonAttachmentFields, ...attachmentFields[protocol] });
  const fields = kinds.map(([key, kind]): [string, fc.Arbitrary<unknown>] => [key, values[kind]]);
  fields.push(['protocol', fc.constant(protocol)]);
  return fc
    .record<Record<string, unknown>>(Object.fromEntries(fields), { noNullPrototype: true })
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
  const attachment = fromPublishContext(context);
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
