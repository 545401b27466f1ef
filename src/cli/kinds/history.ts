import * as z from 'zod';
import { poolMinuteSchema, type Minute } from '../../api/admin.ts';
import { time } from '../../api/storage.ts';
import { kind, sizeColumn } from '../kind.ts';

const minuteOfPool = poolMinuteSchema.extend({
  id: z.string().describe('The end of the minute, and the pool.'),
  at: time.describe('The end of the minute.'),
});

type MinuteOfPool = z.infer<typeof minuteOfPool>;

export const history = kind<MinuteOfPool>({
  one: 'minute',
  schema: minuteOfPool,
  aliases: [],
  doc: 'the last 24 hours of each pool, minute by minute: space, calls, failures and waits; the newest 100 entries, or --limit; a name is the pool',
  isLog: true,
  ask: pool => ({ pool }),
  async page(client, { pool, since, until, limit, pageToken }, call) {
    const { minutes, nextPageToken } = await client.listHistory(
      { pool, since, until, limit, pageToken },
      call,
    );
    return { entries: minutes.flatMap(toEntries), nextPageToken };
  },
  columns: [
    { head: 'at', of: ({ at }) => at },
    { head: 'pool', of: ({ pool }) => pool },
    sizeColumn('total', ({ totalBytes }) => totalBytes),
    sizeColumn('reserved', ({ reservedBytes }) => reservedBytes),
    sizeColumn('deleted', ({ deletedBytes }) => deletedBytes),
    { head: 'calls', of: ({ calls }) => calls },
    { head: 'failed', of: ({ failedCalls }) => failedCalls },
    { head: 'waiting', of: ({ waiting }) => waiting },
    { head: 'wait', of: ({ waitMs }) => waitMs, unit: 'ms' },
  ],
});

function toEntries({ id: at, pools }: Minute): readonly MinuteOfPool[] {
  return pools.map(one => ({ id: `${at}/${one.pool}`, at, ...one }));
}
