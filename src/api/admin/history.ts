import * as z from 'zod';
import { pageSchemaOf, poolName, queryText, sizeBytes, time } from '../storage.ts';
import { moment } from './audit-log.ts';

const count = z.int().nonnegative();

export const historyQuery = {
  pool: queryText('Only this pool.', 'fast'),
  since: moment('Only minutes that end at this time or later.'),
  until: moment('Only minutes that end before this time.'),
};

/** A pool in one minute, over all replicas of the gateway. */
export const poolMinuteSchema = z
  .object({
    pool: poolName,
    totalBytes: sizeBytes
      .optional()
      .describe('The capacity of the storage; absent: it reports none, or did not answer.'),
    reservedBytes: sizeBytes.describe('The bytes that all clusters together reserve.'),
    deletedBytes: sizeBytes.describe('The part of `reservedBytes` that soft-deleted volumes reserve.'),
    calls: count.describe('The calls of its storage that ended, without questions about size and health.'),
    failedCalls: count,
    waiting: count.describe('The maximum number of operations that waited for a slot.'),
    waitMs: count.describe('The longest wait of an operation for a slot, in milliseconds.'),
  })
  .meta({ id: 'PoolMinute', description: 'A pool in one minute.' });

export const minuteSchema = z
  .object({
    id: time.describe('The end of the minute.'),
    pools: z.array(poolMinuteSchema),
  })
  .meta({ id: 'Minute', description: 'The pools in one minute.' });

/** One page of the last 24 hours, newest first. The last page has no `nextPageToken`. */
export const historyPageSchema = pageSchemaOf('minutes', minuteSchema, {
  id: 'HistoryPage',
  description: 'One page of the last 24 hours, minute by minute, newest first.',
});

export type Minute = z.infer<typeof minuteSchema>;
export type PoolMinute = z.infer<typeof poolMinuteSchema>;
