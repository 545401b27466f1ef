import * as z from 'zod';
import { algorithmOf } from '../../src/api/http/jwt.ts';

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

const anyKeySchema = z
  .looseObject({
    kid: z.string().min(1),
    kty: z.string(),
    crv: z.string().optional(),
    x: z.string().optional(),
    n: z.string().optional(),
    e: z.string().optional(),
    use: z.string().optional(),
    alg: z.string().optional(),
  })
  .refine(key => !secretMembers.some(member => member in key), {
    error: 'is a private or secret key; only public keys belong here',
    abort: true,
  });

/** A caller's own public keys (RFC 7517), Ed25519 or P-256, each with a `kid`. */
export const keySetSchema = z.object({
  keys: z.array(
    anyKeySchema.safeExtend({ use: z.literal('sig').optional() }).superRefine((key, context) => {
      const algorithm = algorithmOf(key);
      const report = (message: string): void => context.addIssue({ code: 'custom', message });
      if (algorithm === undefined) report('is neither an Ed25519 nor a P-256 key');
      else if (key.alg !== undefined && key.alg !== algorithm)
        report(`has the alg "${key.alg}", which must be "${algorithm}" or absent`);
    }),
  ),
});

/** A trusted issuer's public keys. Keys for other uses may be among them, but sign nothing here. */
export const issuerKeySetSchema = z.object({ keys: z.array(anyKeySchema) });

export type PublicKey = z.infer<typeof anyKeySchema>;
