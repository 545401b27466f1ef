import { z } from 'zod';

/** How a grant is revoked. */
export const revocationQuery = z.object({
  force: z
    .enum(['true', 'false'])
    .default('false')
    .transform(given => given === 'true')
    .describe('`true`: the volume is detached from the nodes of the cluster first.'),
});
