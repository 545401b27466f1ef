import * as z from 'zod';
import { isShortName } from '../../src/api/ids.ts';
import { hasDistinctKeys, segmentKeyPattern, segmentValuePattern } from '../../src/api/topology.ts';
import { durationMs, httpUrl, requirePrivate } from '../../src/lib/parsers.ts';
import type { Bounds } from '../scheduling/limit.ts';
import { attachmentsSchema } from './attachments.ts';
import { concurrencySchema, toBounds } from './concurrency.ts';
import { type FoundPlugins, pluginOf, type PoolEntry } from '../pools/plugins.ts';
import { callbackPath } from '../../src/api/admin/console.ts';
import { byteCount, faultsOfEachKind, parsedText } from '../local/settings-schemas.ts';

export type ConfigFile = z.output<ReturnType<typeof configFileSchema>>;

/** Lets a rule be checked beside other faults of the same object. */
function isObject({ value: found }: { readonly value: unknown }): boolean {
  return z.util.isPlainObject(found);
}

const name = z.string().refine(isShortName, {
  error: 'must have lower-case letters, digits and inner dashes, at most 32',
});

const keysFile = z.string().min(1).describe('JWKS file with its public keys, relative to this file');
const readersFile = z
  .string()
  .min(1)
  .optional()
  .describe('JWKS file with the public keys of readers; they cannot change anything');

const issuer = z.string().min(1).describe('the exact "iss" of its tokens');
const audience = z
  .string()
  .min(1)
  .optional()
  .describe('the only "aud" of its tokens; without it: the gateway\'s --audience');
const issuerKeys = z.string().min(1);
/** The value of `keys` for keys that the issuer publishes. */
export const discovered = 'discovery';

/** Checks the address of an issuer that publishes its keys. */
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
      `JWKS file with the public keys of the cluster's issuer (\`kubectl get --raw /openid/v1/jwks\`); \`${discovered}\`: the keys that the issuer publishes`,
    ),
  })
  .superRefine(requireReachable);

function privateUrl(text: string): string {
  const url = httpUrl(text);
  requirePrivate(url);
  return url;
}

const consoleSchema = z.strictObject({
  clientId: z.string().min(1).describe('the client id of the console at the provider'),
  url: parsedText(privateUrl).describe(
    `the address of this gateway for browsers, such as https://storage.example; register \`URL${callbackPath}\` at the provider`,
  ),
  secretFile: z
    .string()
    .min(1)
    .optional()
    .describe(
      "file with the client's secret, relative to this file; without it: a public client, with PKCE only",
    ),
});

const oidcSchema = z
  .strictObject({
    issuer,
    audience,
    subjects: z.array(z.string().min(1)).min(1).describe('the "sub" of each operator'),
    keys: issuerKeys
      .default(discovered)
      .describe(`JWKS file with the provider's public keys; \`${discovered}\`: the keys that it publishes`),
    console: consoleSchema.optional().describe('operators log in to the console at the provider'),
  })
  .superRefine(requireReachable);

/** The topology of a pool: the one that nodes must report to reach it. */
export const topologySchema = z
  .record(
    z.string().regex(segmentKeyPattern, 'is not a topology key'),
    z.string().min(1).regex(segmentValuePattern, 'is not a topology value'),
  )
  .refine(segments => Object.keys(segments).length > 0, 'must not be empty')
  .refine(hasDistinctKeys, 'has keys that differ only in upper and lower case')
  .describe('its topology: the keys and values of the nodes that can reach it; without it: all nodes can');

const count = z.int().nonnegative().optional();
const limits = {
  bytes: byteCount.optional().describe('maximum bytes of volumes and snapshots together, such as 10Ti'),
  volumes: count.describe('maximum number of volumes'),
  snapshots: count.describe('maximum number of snapshots, including members of groups'),
};

/** The quota of a cluster. Its `pools` must be among these. */
function quotaSchema(poolNames: readonly string[]) {
  const poolName = z.string().refine(one => poolNames.includes(one), {
    error: ({ input }) => `there is no pool "${String(input)}"`,
  });
  return z.strictObject({
    ...limits,
    pools: z.record(poolName, z.strictObject(limits)).optional().describe('the same for each pool'),
  });
}

const perSecond = z.int().min(1).max(1_000_000);
const rateSchema = z.strictObject({
  perSecond: perSecond.describe('average number of requests in a second'),
  burst: perSecond.optional().describe('maximum number of requests at once; without it: twice `perSecond`'),
});

const deadNodesSchema = z.strictObject({
  after: parsedText(silenceMs).describe('time without a sign of life, between 20s and 1h, such as 60s'),
});

/** A kubelet renews its lease every 10 s. */
function silenceMs(value: string): number {
  const ms = durationMs(value);
  if (ms < 20_000 || ms > 3_600_000) throw new Error(`"${value}" is not between 20s and 1h`);
  return ms;
}

/** A cluster. Its `pools` must be among these. */
export function clusterSchema(poolNames: readonly string[]) {
  return z
    .strictObject({
      keys: keysFile.optional(),
      serviceAccount: serviceAccountSchema
        .optional()
        .describe('its controller uses the tokens of this service account'),
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
      sharesFrom: z
        .array(name)
        .max(64)
        .optional()
        .describe(
          'the clusters whose shared volumes it accepts; without it: only grants that an operator makes',
        ),
      quota: quotaSchema(poolNames)
        .optional()
        .describe('its maximum `bytes`, `volumes` and `snapshots`, and the same in `pools.NAME`'),
      deadNodes: deadNodesSchema
        .optional()
        .describe(
          'its controller detaches the volumes of a node that is silent for the time `after`, so that its pods start elsewhere; without it: only a person does so',
        ),
      rate: rateSchema
        .optional()
        .describe(
          'maximum rate of its requests to each process; without it: the capacity that other clusters leave',
        ),
    })
    .refine(({ keys, serviceAccount }) => keys ?? serviceAccount, {
      error: 'needs "keys" or "serviceAccount"',
      when: isObject,
    });
}

export const operatorsSchema = z
  .strictObject({
    keys: keysFile.optional(),
    readers: readersFile,
    oidc: oidcSchema.optional().describe('people with an account at an OpenID provider'),
  })
  .refine(({ keys, readers, oidc }) => keys ?? readers ?? oidc, {
    error: 'needs "keys", "readers" or "oidc"',
    when: isObject,
  });

/** The whole file, with these backends and pools. */
export function configFileSchema(found: FoundPlugins, poolNames: readonly string[]) {
  return z.strictObject({
    pools: z
      .record(name, poolSchema(found))
      .refine(pools => Object.keys(pools).length > 0, 'at least one pool is required'),
    clusters: z.record(name, clusterSchema(poolNames)).default({}),
    operators: operatorsSchema.optional(),
  });
}

export function commonPoolSchema({ plugins, faults }: FoundPlugins) {
  const backend = z.enum(Object.keys(plugins), { error: ({ input }) => faults.get(String(input)) });
  return z.object({
    backend,
    topology: topologySchema.optional(),
    concurrency: concurrencySchema.default({}),
    attachments: attachmentsSchema.optional(),
    keepDeleted: parsedText(durationMs)
      .optional()
      .describe('time to keep its deleted volumes, such as 72h; without it: `--keep-deleted`'),
  });
}

/** The entry of a pool. The backend's own schema checks the other members, and all faults are reported. */
function poolSchema(found: FoundPlugins): z.ZodType<PoolEntry> {
  const common = commonPoolSchema(found);
  return z.looseObject({}).transform((entry, context) => {
    const { backend, topology: _t, concurrency: _c, attachments: _a, keepDeleted: _k, ...rest } = entry;
    const plugin = pluginOf(found.plugins, backend);
    const known = common.safeParse(entry);
    const own = plugin?.settings.safeParse(rest);
    const ofNoBackend = backend === undefined ? faultsOfEachKind(rest, settingsOf(found)) : [];
    for (const issue of [known, own].flatMap(one => one?.error?.issues ?? []).concat(ofNoBackend))
      context.issues.push({ ...issue, input: entry } as (typeof context.issues)[number]);
    if (!plugin || !known.success || !own?.success) return z.NEVER;
    const { topology, attachments, keepDeleted: keepDeletedMs } = known.data;
    const settings: unknown = own.data;
    return {
      backend: known.data.backend,
      topology,
      concurrency: readBounds(),
      settings,
      ...(attachments && { attachments }),
      ...(keepDeletedMs !== undefined && { keepDeletedMs }),
    };

    function readBounds(): Bounds {
      const { bounds, fault } = toBounds(known.data?.concurrency ?? {}, plugin?.maxConcurrency?.(own?.data));
      if (fault !== undefined) context.addIssue({ code: 'custom', path: ['concurrency'], message: fault });
      return bounds;
    }
  });
}

function settingsOf({ plugins }: FoundPlugins): readonly z.ZodType[] {
  return Object.values(plugins).map(({ settings }) => settings);
}
