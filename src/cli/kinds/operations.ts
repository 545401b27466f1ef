import { runningOperationSchema, type RunningOperation } from '../../api/admin.ts';
import { kind, ofCluster, toPage, wide } from '../kind.ts';

export const operations = kind<RunningOperation>({
  one: 'operation',
  schema: runningOperationSchema,
  aliases: ['operation', 'op'],
  doc: 'running operations; a name is a volume, or kind/id',
  ask: (name, cluster) =>
    name.includes('/') ? { id: name } : { id: `volume/${ofCluster('.')(name, cluster).id}` },
  page: async (client, query, call) => toPage(await client.listOperations(query, call), 'operations'),
  columns: [
    { head: 'id', of: ({ id }) => id },
    { head: 'operation', of: ({ operation }) => operation },
    { head: 'for', of: ({ since }, { nowMs }) => nowMs - Date.parse(since), unit: 'ms' },
    { head: 'holder', of: ({ holder }) => holder.slice(0, 8) },
    wide({ head: 'since', of: ({ since }: RunningOperation) => since }),
    wide({ head: 'until', of: ({ until }: RunningOperation) => until }),
  ],
});
