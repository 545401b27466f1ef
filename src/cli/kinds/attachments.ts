import { adminAttachmentSchema, type AdminAttachment } from '../../api/admin.ts';
import { kind, nameOf, ofCluster, sizeColumn, toPage, wide } from '../kind.ts';

export const attachments = kind<AdminAttachment>({
  one: 'attachment',
  schema: adminAttachmentSchema,
  aliases: ['attachment', 'att'],
  doc: 'attachments of volumes to nodes; a name is a volume, or volume/cluster/node',
  ask: (name, cluster) =>
    name.includes('/') ? { id: name } : { volumeId: ofCluster('.')(name, cluster).id ?? name },
  page: async (client, query, call) => toPage(await client.listAllAttachments(query, call), 'attachments'),
  columns: [
    { head: 'volume', of: ({ volumeId }) => volumeId },
    { head: 'node', of: ({ nodeId }) => nameOf(nodeId) },
    { head: 'cluster', of: ({ cluster }) => cluster },
    { head: 'state', of: ({ state }) => state },
    { head: 'writes', of: ({ readonly }) => (readonly ? 'no' : 'yes') },
    { head: 'protocol', of: ({ protocol }) => protocol },
    wide({ head: 'mode', of: ({ capability }: AdminAttachment) => capability.accessMode }),
    wide({
      head: 'type',
      of: ({ capability }: AdminAttachment) => capability.fsType ?? capability.accessType,
    }),
    wide(sizeColumn('size', ({ sizeBytes }: AdminAttachment) => sizeBytes)),
  ],
});
