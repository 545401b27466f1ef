import * as z from 'zod';
import { poolName, text, volumeId } from '../storage.ts';

/** A difference between the storage and the store. */
export const findingSchema = z
  .object({
    pool: poolName,
    kind: z.enum(['volume', 'snapshot']),
    id: volumeId,
    problem: z
      .enum(['unknown', 'missing', 'stuck'])
      .describe('`unknown`: not in the store; `missing`: not in the storage; `stuck`: work does not end.'),
    ageMs: z.int().describe('Time since the first check that found it, in milliseconds.'),
    detail: text('in the storage, not in the store').describe('A description for people.'),
  })
  .meta({ id: 'Finding', description: 'A difference between the storage and the store.' });

export type Finding = z.infer<typeof findingSchema>;
