import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { attachmentResourceSchema, attachmentSpecSchema, nodeSpecSchema } from '../../../src/api/node.ts';
import { capabilitiesSchema } from '../../../src/api/storage.ts';
import { volumePageSchema, volumeSchema, volumeSpecSchema } from '../../../src/api/volume.ts';
import { sampleVolume } from '../../fakes/storage-api.ts';

const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };
const spec = { name: 'pvc-1', capabilities: [capability] };
const attachment = {
  protocol: 'loop',
  attachmentId: 'x',
  sizeBytes: 1,
  readonly: false,
  mayFormat: true,
  path: '/x',
};
const attached = { volumeId: 'a.x', nodeId: 'n', state: 'attached', readonly: false, attachment };
const offered = { version: '1', accessModes: [], accessTypes: [], features: [], pools: [] };

type Row = readonly [name: string, schema: z.ZodType, value: unknown];

const good: readonly Row[] = [
  ['a small volume spec', volumeSpecSchema, spec],
  ['a name of 128 bytes', volumeSpecSchema, { ...spec, name: 'é'.repeat(64) }],
  ['a volume', volumeSchema, sampleVolume()],
  ['a volume with a field of a later version', volumeSchema, { ...sampleVolume(), later: 1 }],
  ['an attachment', attachmentResourceSchema, attached],
  [
    'an attachment that is not done',
    attachmentResourceSchema,
    { ...attached, state: 'attaching', attachment: undefined },
  ],
  ['a node that tells nothing', nodeSpecSchema, {}],
  ['capabilities', capabilitiesSchema, offered],
  ['a feature of a later version', capabilitiesSchema, { ...offered, features: ['later'] }],
];

const bad: readonly Row[] = [
  ['a spec without a name', volumeSpecSchema, { capabilities: [capability] }],
  ['an empty name', volumeSpecSchema, { ...spec, name: '' }],
  ['a name of 129 bytes in fewer characters', volumeSpecSchema, { ...spec, name: `${'é'.repeat(64)}x` }],
  ['no capabilities', volumeSpecSchema, { ...spec, capabilities: [] }],
  [
    '65 capabilities',
    volumeSpecSchema,
    { ...spec, capabilities: Array.from({ length: 65 }, () => capability) },
  ],
  ['an unknown field', volumeSpecSchema, { ...spec, cluster: 'b' }],
  ['a negative size', volumeSpecSchema, { ...spec, requiredBytes: -1 }],
  ['a fraction as size', volumeSpecSchema, { ...spec, requiredBytes: 1.5 }],
  ['a size beyond 2^53', volumeSpecSchema, { ...spec, limitBytes: 2 ** 53 }],
  ['a size as text', volumeSpecSchema, { ...spec, requiredBytes: '1' }],
  ['parameters of more than 4096 bytes', volumeSpecSchema, { ...spec, parameters: { k: 'é'.repeat(2_048) } }],
  ['a parameter that is no text', volumeSpecSchema, { ...spec, parameters: { k: 1 } }],
  [
    'an unknown access mode',
    attachmentSpecSchema,
    { capability: { ...capability, accessMode: 'ANY' }, readonly: false },
  ],
  [
    'an unknown access type',
    attachmentSpecSchema,
    { capability: { ...capability, accessType: 'tape' }, readonly: false },
  ],
  ['an attachment spec without readonly', attachmentSpecSchema, { capability }],
  ['a volume in an unknown state', volumeSchema, { ...sampleVolume(), state: 'lost' }],
  ['a volume without attachments', volumeSchema, { ...sampleVolume(), attachments: undefined }],
  ['a page that is a list', volumePageSchema, []],
  [
    'an attachment over an unknown protocol',
    attachmentResourceSchema,
    { ...attached, attachment: { ...attachment, protocol: 'x' } },
  ],
  [
    'an attachment with a field of another protocol',
    attachmentResourceSchema,
    { ...attached, attachment: { ...attachment, portal: 'x' } },
  ],
  [
    'an attachment without its path',
    attachmentResourceSchema,
    { ...attached, attachment: { ...attachment, path: undefined } },
  ],
  ['a node that can hold no volume', nodeSpecSchema, { maxVolumes: 0 }],
  ['capabilities that say nothing of features', capabilitiesSchema, { ...offered, features: undefined }],
];

for (const [name, schema, value] of good) {
  test(`${name} is accepted`, () => assert.equal(schema.safeParse(value).error, undefined));
}

for (const [name, schema, value] of bad) {
  test(`${name} is refused`, () => assert.equal(schema.safeParse(value).success, false));
}
