import { z } from 'zod';
import { problemTable, type ProblemCode } from '../problem.ts';
import { queryText, text, time } from '../storage.ts';

const codes = ['OK', ...(Object.keys(problemTable) as ProblemCode[])] as const;

const moment = (description: string) =>
  z.iso
    .datetime({ offset: true })
    .optional()
    .transform(given => (given === undefined ? undefined : Date.parse(given)))
    .meta({ description, examples: ['2026-01-31T12:00:00Z'] });

/** Which entries of the log are asked for. */
export const auditLogQuery = {
  cluster: queryText('Only what is, or was, of this cluster.', 'east'),
  resource: queryText('Only what was done to the volume, snapshot, group or node.', 'east.pvc-1'),
  since: moment('Only what was done then or later.'),
  until: moment('Only what was done before.'),
};

/** One thing that was done, or that failed. */
export const auditEntrySchema = z
  .object({
    id: text('019c1234abcd-00000001-5f0e9a4b'),
    at: time,
    actor: text('east').describe(
      'The cluster that asked, `operator`, or `gateway` for what it does by itself.',
    ),
    subject: z.string().optional().describe('Who of those it was: the key, or the subject of the token.'),
    operation: text('create'),
    kind: z.enum(['volume', 'snapshot', 'group', 'node']),
    resource: text('east.pvc-1').describe('Its id; a node has its cluster before it, as `east/node-1`.'),
    about: z.string().optional().describe('What else it is about, such as the node.'),
    code: z.enum(codes).describe('How it ended.'),
    requestId: z.string().optional(),
  })
  .meta({ id: 'AuditEntry', description: 'Who changed what, when, and how that ended.' });

/** One page of the log, the newest first. No `nextPageToken` means that it is the last. */
export const auditLogPageSchema = z
  .object({ entries: z.array(auditEntrySchema), nextPageToken: z.string().optional() })
  .meta({ id: 'AuditLogPage', description: 'A page of the log of changes, the newest first.' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;
