import { auditEntrySchema, type AuditEntry } from '../../api/admin.ts';
import { kind, ofCluster, wide } from '../kind.ts';

export const auditLog = kind<AuditEntry>({
  one: 'entry',
  schema: auditEntrySchema,
  aliases: ['audit'],
  doc: 'the audit log: who changed which resource and the outcome; the newest 100 entries, or --limit; a name is the resource',
  isLog: true,
  ask: (name, cluster) => ({ resource: ofCluster('.')(name, cluster).id ?? name }),
  async page(client, query, call) {
    const { entries, nextPageToken } = await client.listAuditLog(query, call);
    return { entries, nextPageToken };
  },
  columns: [
    { head: 'at', of: ({ at }) => at },
    { head: 'actor', of: ({ actor }) => actor },
    { head: 'operation', of: ({ operation }) => operation },
    { head: 'resource', of: ({ resource }) => resource },
    { head: 'about', of: ({ about }) => about },
    { head: 'code', of: ({ code }) => code },
    { head: 'times', of: ({ count }) => count },
    { head: 'detail', of: ({ detail }) => detail },
    wide({ head: 'kind', of: ({ kind: of }: AuditEntry) => of }),
    wide({ head: 'first', of: ({ firstAt }: AuditEntry) => firstAt }),
    wide({ head: 'subject', of: ({ subject }: AuditEntry) => subject }),
    wide({ head: 'request', of: ({ requestId }: AuditEntry) => requestId }),
  ],
});
