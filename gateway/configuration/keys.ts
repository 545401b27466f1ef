import { z } from 'zod';
import { algorithmOf } from '../../src/api/http/jwt.ts';

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

const anyKeySchema = z
  .looseObject({
    kid: z.string().min(1),
    kty: z.string(),
    crv: z.string().optional(),
    x: z.string().optional(),
    n: z.string().optional(),
    alg: z.string().optional(),
  })
  .refine(key => !secretMembers.some(member => member in key), {
    error: 'is a private or secret key; only public keys belong here',
    abort: true,
  });

/** A set of public keys (RFC 7517) of a caller's own, each with a `kid`, Ed25519 or P-256. */
export const keySetSchema = z.object({
  keys: z.array(
    anyKeySchema.safeExtend({ use: z.literal('sig').optional() }).superRefine((key, context) => {
      const algorithm = algorithmOf(key);
      const report = (message: string): void => context.addIssue({ code: 'custom', message });
      if (algorithm === undefined) report('is neither an Ed25519 nor a P-256 key');
      else if (key.alg !== undefined && key.alg !== algorithm)
        report(`must have the alg "${algorithm}" or none`);
    }),
  ),
});

/** A set of public keys of somebody who signs for others. It may have keys for other uses, which sign nothing here. */
export const issuerKeySetSchema = z.object({ keys: z.array(anyKeySchema) });

/** A public key. */
export type PublicKey = z.infer<typeof anyKeySchema>;
