import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { importJWK, type CryptoKey, type JWK } from 'jose';
import { z } from 'zod';
import { isClusterName } from '../../src/api/ids.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Algorithm, Cluster, Clusters, EnrolledKey, Enrolment } from './auth.ts';
import { describeIssue } from '../volumes/validate.ts';

/** How often the files are looked at, at most; a key that was removed is refused after this time. */
export type ClustersOptions = { readonly log: Log; readonly checkEveryMs?: number };

type Loaded = {
  readonly enrolment: Enrolment;
  readonly signature: string;
  readonly paths: readonly string[];
};

const clustersSchema = z.strictObject({
  clusters: z.array(
    z.strictObject({
      name: z
        .string()
        .refine(isClusterName, 'must have lower-case letters, digits and inner dashes, at most 32'),
      issuer: z.string().min(1),
      jwksFile: z.string().min(1),
      acceptAnyNode: z.boolean().default(false),
    }),
  ),
});

const keySchema = z.looseObject({
  kty: z.string(),
  crv: z.string().optional(),
  kid: z.string().min(1),
  alg: z.string().optional(),
  use: z.literal('sig').optional(),
});
const keySetSchema = z.object({ keys: z.array(keySchema) });
type Key = z.infer<typeof keySchema>;

const algorithms: Readonly<Record<string, Algorithm>> = { 'OKP Ed25519': 'EdDSA', 'EC P-256': 'ES256' };
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const defaultCheckMs = 2_000;

/**
 * Reads which clusters are enrolled from the clusters file and the key sets that it names; throws one line when they
 * are not well. They are read again when they change; while they are not well, what was read last holds.
 */
export async function openClusters(
  path: string,
  { log, checkEveryMs = defaultCheckMs }: ClustersOptions,
): Promise<Clusters> {
  let loaded = await load(path);
  let checkedMs = Date.now();
  let checking: Promise<void> | undefined;
  let fault = '';

  async function check(): Promise<void> {
    try {
      if (fault === '' && (await signatureOf(loaded.paths)) === loaded.signature) return;
      loaded = await load(path);
      log.info('the enrolled clusters were read again', { path, count: loaded.enrolment.size });
      fault = '';
    } catch (error) {
      const found = error instanceof Error ? error.message : String(error);
      if (found !== fault) log.error('the enrolled clusters stay as they were', { path, detail: found });
      fault = found;
    }
  }

  return {
    async current() {
      if (Date.now() - checkedMs >= checkEveryMs) {
        checking ??= check().finally(() => {
          checkedMs = Date.now();
          checking = undefined;
        });
        await checking;
      }
      return loaded.enrolment;
    },
  };
}

async function load(path: string): Promise<Loaded> {
  const { clusters } = await readJson(path, clustersSchema);
  const paths = [path, ...clusters.map(({ jwksFile }) => resolve(dirname(path), jwksFile))];
  const signature = await signatureOf(paths);
  const enrolment = new Map<string, EnrolledKey>();
  const materials = new Set<string>();
  const names = new Set<string>();
  for (const { jwksFile, ...cluster } of clusters) {
    if (names.has(cluster.name)) throw new Error(`${path}: cluster "${cluster.name}" is there twice`);
    names.add(cluster.name);
    const file = resolve(dirname(path), jwksFile);
    for (const key of (await readJson(file, keySetSchema)).keys) {
      const material = `${key.kty} ${String(key.x)}`;
      if (enrolment.has(key.kid)) throw new Error(`${file}: kid "${key.kid}" is enrolled twice`);
      if (materials.has(material))
        throw new Error(`${file}: the key with kid "${key.kid}" is enrolled under another kid too`);
      materials.add(material);
      enrolment.set(key.kid, await enrol(file, key, cluster));
    }
  }
  return { enrolment, signature, paths };
}

async function enrol(file: string, key: Key, cluster: Cluster): Promise<EnrolledKey> {
  const place = `${file}: the key with kid "${key.kid}"`;
  if (privateMembers.some(member => member in key))
    throw new Error(`${place} is a private or secret one; only public keys belong here`);
  const algorithm = algorithms[`${key.kty} ${key.crv}`];
  if (!algorithm) throw new Error(`${place} is neither Ed25519 nor P-256`);
  if (key.alg !== undefined && key.alg !== algorithm)
    throw new Error(`${place} must have the alg "${algorithm}" or none`);
  try {
    return { cluster, key: (await importJWK(key as JWK, algorithm)) as CryptoKey, algorithm };
  } catch (error) {
    throw new Error(`${place} is malformed`, { cause: error });
  }
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  let data: unknown;
  try {
    data = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(code ? `cannot read "${path}" (${code})` : `"${path}" is not JSON`, { cause: error });
  }
  const parsed = schema.safeParse(data);
  if (!parsed.success) throw new Error(describeIssue(parsed.error, { root: path }));
  return parsed.data;
}

/** Changes when a file does; a file that cannot be looked at is left to whoever reads it. */
async function signatureOf(paths: readonly string[]): Promise<string> {
  const parts = await Promise.all(
    paths.map(async path => {
      const found = await stat(path).catch(() => undefined);
      return found ? `${found.mtimeMs}:${found.size}:${found.ino}` : 'none';
    }),
  );
  return parts.join(' ');
}
