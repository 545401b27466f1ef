import { queueSchema, type Queue } from '../../api/admin.ts';
import { kind, toPage, wide } from '../kind.ts';

export const queues = kind<Queue>({
  one: 'queue',
  schema: queueSchema,
  aliases: ['queue'],
  doc: 'queues of operations that wait for a slot at a pool; a name is pool/cluster',
  ask: id => ({ id }),
  page: async (client, query, call) => toPage(await client.listQueues(query, call), 'queues'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'waiting', of: ({ waiting }) => waiting },
    { head: 'running', of: ({ running }) => running },
    { head: 'limit', of: ({ limit }) => limit },
    { head: 'oldest', of: ({ oldestWaitMs }) => oldestWaitMs, unit: 'ms' },
    wide({ head: 'pool', of: ({ pool }: Queue) => pool }),
    wide({ head: 'cluster', of: ({ cluster }: Queue) => cluster }),
  ],
});
