import { accessModes } from '../../../src/sdk/server/vendor.ts';
import type { Breakage } from './breakage.ts';

/** A correct vendor that differs from the reference vendor. */
type Correct = Pick<Breakage, 'operations' | 'offer' | 'accessModes' | 'hasImports' | 'timeoutMs'> & {
  /** What it does, as the end of "a vendor that". */
  readonly does: string;
  /** Requirements, sections or chapters that its difference concerns. */
  readonly only: readonly string[];
  /** Time from its start until it listens, in milliseconds. */
  readonly startMs?: number;
};

const tiers = {
  type: 'object',
  additionalProperties: false,
  properties: { label: { enum: ['standard', 'fast'], default: 'standard' } },
};
const withTiers: NonNullable<Correct['offer']> = right => ({
  ...right,
  parameters: { ...right.parameters, mutable: tiers },
});

/** Correct vendors by name. The kit must find nothing in them. */
export const correctVendors: Readonly<Record<string, Correct>> = {
  'default-tier': {
    does: 'gives each volume the default of a mutable parameter',
    only: ['FL-3.2'],
    offer: withTiers,
    operations: right => ({
      getCapabilities: () => [200, withTiers(right.getCapabilities()[1])],
      createVolume(asked) {
        const mutableParameters = { label: 'standard', ...asked.body.mutableParameters };
        return right.createVolume({ ...asked, body: { ...asked.body, mutableParameters } });
      },
    }),
  },
  'many-writers': {
    does: 'offers no access mode for a single node',
    only: ['FL-4', 'FL-8'],
    accessModes: ['MULTI_NODE_READER_ONLY', 'MULTI_NODE_MULTI_WRITER'],
  },
  'all-modes': {
    does: 'offers all access modes',
    only: ['FL-3.4', 'FL-4'],
    accessModes,
  },
  'one-writer': {
    does: 'offers only the access mode for one writer and many readers',
    only: ['FL-4', 'FL-8.2', 'FL-8.4'],
    accessModes: ['MULTI_NODE_SINGLE_WRITER'],
  },
  'readers-only': {
    does: 'offers only access modes without writers',
    only: ['FL-3', 'FL-4', 'FL-8.3'],
    accessModes: ['MULTI_NODE_READER_ONLY', 'SINGLE_NODE_READER_ONLY'],
  },
  importer: {
    does: 'imports the volumes of a former driver',
    only: ['FL-3.1', 'FL-3.9', 'FL-8.3-6', 'FL-9.1-11'],
    hasImports: true,
  },
  'slow-start': {
    does: 'takes longer to start than the kit gives an operation',
    only: ['FL-8.3-1'],
    timeoutMs: 3_000,
    startMs: 4_000,
  },
};
