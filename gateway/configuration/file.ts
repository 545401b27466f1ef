import { z } from 'zod';
import { isClusterName } from '../../src/api/ids.ts';
import {
  hasDistinctKeys,
  segmentKeyPattern,
  segmentValuePattern,
  type Segments,
} from '../../src/api/topology.ts';
import { httpUrl, requirePrivate } from '../../src/lib/parsers.ts';
import type { Bounds } from '../pools/limit.ts';
import { concurrencySchema, toBounds } from './concurrency.ts';
import type { FoundPlugins } from './plugins.ts';
import { byteCount } from './schemas.ts';

/** A pool as the file has it: its backend, where it is, and the backend's own settings, checked. */
export type PoolEntry = {
  readonly backend: string;
  readonly topology: Segments | undefined;
  /** How many operations it is given at a time. */
  readonly concurrency: Bounds;
  readonly settings: unknown;
};

/** The whole file. */
export type ConfigFile = z.output<ReturnType<typeof configFileSchema>>;

const name = z.string().refine(isClusterName, {
  error: 'must have lower-case letters, digits and inner dashes, at most 32',
});

const keysFile = z.string().min(1).describe('JWKS file with its public keys, relative to this file');
const readersFile = z
  .string()
  .min(1)
  .optional()
  .describe('JWKS file with the public keys of those who may read, and change nothing');

const issuer = z.string().min(1).describe('the "iss" of its tokens, to the letter');
const audience = z
  .string()
  .min(1)
  .optional()
  .describe('the "aud" of its tokens, which has no other; without it: the gateway\'s --audience');
const issuerKeys = z.string().min(1);
/** In place of a file of keys: as the issuer publishes them. */
export const discovered = 'discovery';

/** An issuer without a file is asked for its keys at its address. */
function requireReachable(
  { issuer: address, keys }: { readonly issuer: string; readonly keys: string },
  context: z.RefinementCtx,
): void {
  if (keys !== discovered) return;
  try {
    requirePrivate(httpUrl(address));
  } catch (error) {
    context.addIssue({ code: 'custom', path: ['issuer'], message: (error as Error).message });
  }
}

const serviceAccountSchema = z
  .strictObject({
    issuer,
    audience,
    subject: z
      .string()
      .regex(
        /^system:serviceaccount:[a-z0-9-]{1,63}:[a-z0-9.-]{1,253}$/,
        'is not system:serviceaccount:NAMESPACE:NAME',
      )
      .describe('system:serviceaccount:NAMESPACE:NAME'),
    keys: issuerKeys.describe(
      `JWKS file with the public keys of the cluster's issuer (\`kubectl get --raw /openid/v1/jwks\`); \`${discovered}\`: as the issuer publishes them`,
    ),
  })
  .superRefine(requireReachable);

const oidcSchema = z
  .strictObject({
    issuer,
    audience,
    subjects: z.array(z.string().min(1)).min(1).describe('the "sub" of each operator'),
    keys: issuerKeys
      .default(discovered)
      .describe(`JWKS file with the provider's public keys; \`${discovered}\`: as it publishes them`),
  })
  .superRefine(requireReachable);

/** Where a pool is: the topology that nodes report from which it is reached. */
export const topologySchema = z
  .record(
    z.string().regex(segmentKeyPattern, 'is not a topology key'),
    z.string().min(1).regex(segmentValuePattern, 'is not a topology value'),
  )
  .refine(segments => Object.keys(segments).length > 0, 'must not be empty')
  .refine(hasDistinctKeys, 'has keys that differ in case alone')
  .describe('where it is: the keys and values of the nodes from which it is reached; without it: all nodes');

const count = z.int().nonnegative().optional();
const limits = {
  bytes: byteCount.optional().describe('the most bytes of volumes and snapshots together, such as 10Ti'),
  volumes: count.describe('the most volumes'),
  snapshots: count.describe('the most snapshots, members of groups included'),
};

/** What a cluster may have; its `pools` must be among these. */
export function quotaSchema(poolNames: readonly string[]) {
  const poolName = z.string().refine(one => poolNames.includes(one), {
    error: ({ input }) => `there is no pool "${String(input)}"`,
  });
  return z.strictObject({
    ...limits,
    pools: z.record(poolName, z.strictObject(limits)).optional().describe('the same for single pools'),
  });
}

const perSecond = z.int().min(1).max(1_000_000);
const rateSchema = z.strictObject({
  perSecond: perSecond.describe('how many requests in a second, one with another'),
  burst: perSecond.optional().describe('how many at once; without it: as many as in two seconds'),
});

/** A cluster; its `pools` must be among these. */
export function clusterSchema(poolNames: readonly string[]) {
  return z
    .strictObject({
      keys: keysFile.optional(),
      serviceAccount: serviceAccountSchema
        .optional()
        .describe('its controller proves who it is by the tokens of this service account'),
      readers: readersFile,
      issuer: z
        .string()
        .min(1)
        .optional()
        .describe('the "iss" of tokens that its own keys sign; without it: its name'),
      acceptAnyNode: z
        .boolean()
        .default(false)
        .describe('true: volumes may be attached to nodes that it has not reported'),
      pools: z
        .array(z.enum(poolNames, { error: ({ input }) => `there is no pool "${String(input)}"` }))
        .optional()
        .describe('the pools that it may use; without it: all'),
      quota: quotaSchema(poolNames)
        .optional()
        .describe(
          'the most that it may have: `bytes`, `volumes`, `snapshots`, and `pools.NAME` with the same',
        ),
      rate: rateSchema
        .optional()
        .describe('how many requests it may send to each process; without it: what others leave'),
    })
    .refine(({ keys, serviceAccount }) => keys ?? serviceAccount, 'has neither "keys" nor "serviceAccount"');
}

/** The operators. */
export const operatorsSchema = z
  .strictObject({
    keys: keysFile.optional(),
    readers: readersFile,
    oidc: oidcSchema.optional().describe('people whom an OpenID provider knows'),
  })
  .refine(({ keys, readers, oidc }) => keys ?? readers ?? oidc, 'has none of "keys", "readers" and "oidc"');

/** The whole file, for these backends; clusters may use pools of these names. */
export function configFileSchema(found: FoundPlugins, poolNames: readonly string[]) {
  return z.strictObject({
    pools: z
      .record(name, poolSchema(found))
      .refine(pools => Object.keys(pools).length > 0, 'at least one pool is needed'),
    clusters: z.record(name, clusterSchema(poolNames)).default({}),
    operators: operatorsSchema.optional(),
  });
}

/** An entry is checked by its backend's own schema, which knows nothing of what all have. */
function poolSchema({ plugins, faults }: FoundPlugins): z.ZodType<PoolEntry> {
  const backendName = z.enum(Object.keys(plugins), { error: ({ input }) => faults.get(String(input)) });
  const known = z.looseObject({
    backend: backendName,
    topology: topologySchema.optional(),
    concurrency: concurrencySchema.default({}),
  });
  return known.transform(({ backend, topology, concurrency, ...rest }, context) => {
    const plugin = plugins[backend];
    const parsed = plugin?.settings.safeParse(rest);
    if (parsed?.success) {
      const { bounds, fault } = toBounds(concurrency, plugin?.mostAtOnce?.(parsed.data));
      if (fault === undefined) return { backend, topology, concurrency: bounds, settings: parsed.data };
      context.addIssue({ code: 'custom', path: ['concurrency'], message: fault });
    }
    for (const issue of parsed?.error?.issues ?? []) {
      const found = { ...issue, input: rest } as (typeof context.issues)[number];
      context.issues.push(found);
    }
    return z.NEVER;
  });
}
