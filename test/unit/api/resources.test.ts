import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { attachmentResourceSchema, attachmentSpecSchema, nodeSpecSchema } from '../../../src/api/node.ts';
import { capabilitiesSchema } from '../../../src/api/storage.ts';
import { volumeSchema, volumeSpecSchema } from '../../../src/api/volume.ts';
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

const inUse = (fields: object) => ({ ...attached, attachment: { ...attachment, ...fields } });
const using = (fields: object) => ({ capability: { ...capability, ...fields }, readonly: false });

type Row = readonly [schema: z.ZodType, values: Readonly<Record<string, unknown>>];

const good: readonly Row[] = [
  [volumeSpecSchema, { 'small spec': spec, 'name of 128 bytes': { ...spec, name: 'é'.repeat(64) } }],
  [volumeSchema, { volume: sampleVolume(), 'volume with a later field': { ...sampleVolume(), later: 1 } }],
  [attachmentResourceSchema, { attached, 'not attached yet': { ...attached, attachment: undefined } }],
  [nodeSpecSchema, { 'a node without members': {} }],
  [capabilitiesSchema, { offered, 'later feature': { ...offered, features: ['later'] } }],
];

const bad: readonly Row[] = [
  [
    volumeSpecSchema,
    {
      'no name': { capabilities: [capability] },
      'empty name': { ...spec, name: '' },
      'name of 129 bytes in fewer characters': { ...spec, name: `${'é'.repeat(64)}x` },
      'no capabilities': { ...spec, capabilities: [] },
      '65 capabilities': { ...spec, capabilities: Array.from({ length: 65 }, () => capability) },
      'unknown field': { ...spec, cluster: 'b' },
      'negative size': { ...spec, requiredBytes: -1 },
      'fraction as size': { ...spec, requiredBytes: 1.5 },
      'size beyond 2^53': { ...spec, limitBytes: 2 ** 53 },
      'size as text': { ...spec, requiredBytes: '1' },
      'parameters of more than 4096 bytes': { ...spec, parameters: { k: 'é'.repeat(2_048) } },
      'parameter that is no text': { ...spec, parameters: { k: 1 } },
    },
  ],
  [
    attachmentSpecSchema,
    {
      'unknown access mode': using({ accessMode: 'ANY' }),
      'unknown access type': using({ accessType: 'tape' }),
      'no readonly': { capability },
    },
  ],
  [volumeSchema, { 'unknown state': { ...sampleVolume(), state: 'lost' } }],
  [
    attachmentResourceSchema,
    {
      'unknown protocol': inUse({ protocol: 'x' }),
      'field of another protocol': inUse({ portal: 'x' }),
      'no path': inUse({ path: undefined }),
    },
  ],
  [nodeSpecSchema, { 'node that can have no volume': { maxVolumes: 0 } }],
  [capabilitiesSchema, { 'no features': { ...offered, features: undefined } }],
];

for (const [rows, isGood] of [
  [good, true],
  [bad, false],
] as const)
  for (const [schema, values] of rows)
    for (const [name, value] of Object.entries(values))
      test(`${schema.meta()?.id}: "${name}" is ${isGood ? 'accepted' : 'refused'}`, () => {
        assert.equal(schema.safeParse(value).success, isGood);
      });
