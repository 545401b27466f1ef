import * as z from 'zod';
import { text, time } from '../storage.ts';
import { findingSchema } from './findings.ts';

/** Tokens that the answering gateway has refused in the last 5 minutes. */
export const refusedTokens = z.object({
  count: z.int().positive(),
  lastAt: time,
  detail: text('the token has expired ("exp")').describe('The reason for the last refusal, for people.'),
});

/** The health of the answering gateway and of its store, and the result of the last check. */
export const statusSchema = z
  .object({
    version: text('1.0.0'),
    host: text('fairlead-gateway-0')
      .optional()
      .describe('The host of the answering gateway, in Kubernetes its pod; absent: a serverless gateway.'),
    startedAt: time.describe('The start of the answering gateway.'),
    servesConsole: z
      .boolean()
      .optional()
      .describe('True: it serves the console (`--console`). Absent: an older gateway.'),
    clockSkewMs: z
      .int()
      .describe(
        'The lead of its clock over the last time in the store, in milliseconds; negative if it is behind.',
      ),
    configurationFaults: z
      .array(text('pools.fast: there is no backend "imag"'))
      .describe('The faults of the configuration file; the faulty parts stay as they were.'),
    keyFaults: z
      .array(z.object({ caller: text('east'), detail: text('east.jwks.json: is not JSON') }))
      .describe(
        'The faults of key files and issuers by cluster, or `operator`; their tokens are refused. Those of retired clusters are left out if the store answers.',
      ),
    refusedTokens: z
      .array(
        refusedTokens.extend({
          cluster: text('east')
            .optional()
            .describe('The cluster that the tokens name, without proof; absent: no configured one.'),
        }),
      )
      .describe('The tokens that the answering gateway has refused in the last 5 minutes.'),
    store: z
      .object({
        answers: z.boolean(),
        answerMs: z
          .int()
          .nonnegative()
          .optional()
          .describe('The time that the answer took, in milliseconds.'),
        fault: z.string().optional().describe('The reason why the store does not answer.'),
      })
      .describe('Without an answer of the store, `check` has no findings.'),
    missingNodes: z
      .array(
        z.object({
          cluster: text('east'),
          nodeId: text('node-1'),
          since: time,
          volumes: z.int().nonnegative(),
        }),
      )
      .describe('Nodes that their cluster no longer has although volumes are attached to them; at most 100.'),
    check: z
      .object({
        at: time.optional().describe('The start of the last check; absent: there was none.'),
        total: z.int().nonnegative().describe('The number of findings, at most 1000.'),
        findings: z.array(findingSchema),
      })
      .describe(
        'The differences between the storage and the store that the last check found; at most 100 are shown.',
      ),
  })
  .meta({ id: 'Status', description: 'The health of a gateway and its store.' });

export type Status = z.infer<typeof statusSchema>;
