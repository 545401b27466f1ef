import * as z from 'zod';
import { problemTable, type ProblemCode } from '../problem.ts';
import { pageSchemaOf, queryText, text, time } from '../storage.ts';

const codes = ['OK', ...(Object.keys(problemTable) as ProblemCode[])] as const;

/** A point in time in a query, in milliseconds since the epoch. */
export const moment = (description: string) =>
  z.iso
    .datetime({ offset: true })
    .optional()
    .transform(given => (given === undefined ? undefined : Date.parse(given)))
    .meta({ description, examples: ['2026-01-31T12:00:00Z'] });

export const auditLogQuery = {
  cluster: queryText('Only changes of resources that belong or belonged to this cluster.', 'east'),
  resource: queryText('Only changes of this volume, snapshot, group, node, pool or cluster.', 'east.pvc-1'),
  since: moment('Only changes at this time or later.'),
  until: moment('Only changes before this time.'),
};

/** One change that was made or that failed, or several equal refusals. */
export const auditEntrySchema = z
  .object({
    id: text('019c1234abcd-00000001-5f0e9a4b'),
    at: time,
    actor: text('east').describe('The calling cluster, `operator`, or `gateway` for its own work.'),
    subject: z.string().optional().describe("The actor's key, or the subject of its token."),
    operation: text('create'),
    kind: z.enum(['volume', 'snapshot', 'group', 'node', 'pool', 'cluster']),
    resource: text('east.pvc-1').describe('The id; for a node with its cluster, such as `east/node-1`.'),
    about: z.string().optional().describe('Another object of the change, such as the node or the pool.'),
    code: z.enum(codes).describe('The outcome.'),
    detail: z.string().optional().describe('The reason of a failure, for people, at most 512 characters.'),
    requestId: z.string().optional(),
    count: z
      .int()
      .positive()
      .optional()
      .describe(
        'The number of equal refusals of the same caller in this hour; the other members describe the last one.',
      ),
    firstAt: time.optional().describe('The time of the first equal refusal in this hour.'),
  })
  .meta({ id: 'AuditEntry', description: 'A change with its actor, time and outcome.' });

/** One page of the audit log, newest first. The last page has no `nextPageToken`. */
export const auditLogPageSchema = pageSchemaOf('entries', auditEntrySchema, {
  id: 'AuditLogPage',
  description: 'One page of the audit log, newest first.',
});

export type AuditEntry = z.infer<typeof auditEntrySchema>;
