import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { isClusterName } from '../../src/api/ids.ts';
import { repeat } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import { createEnrolment, keySetSchema, type Enrolled } from '../configuration/enrolment.ts';
import type { Enrolment } from './auth.ts';
import { describeIssue } from '../volumes/validate.ts';

/** Knows who is enrolled now. */
export interface Clusters {
  current(): Enrolment;
  close(): Promise<void>;
}

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
  let fault = '';

  async function check(): Promise<void> {
    try {
      if (fault === '' && (await signatureOf(loaded.paths)) === loaded.signature) return;
      loaded = await load(path);
      log.info('the enrolled clusters were read again', { path, count: loaded.enrolment.owners.size });
      fault = '';
    } catch (error) {
      const found = error instanceof Error ? error.message : String(error);
      if (found !== fault) log.error('the enrolled clusters stay as they were', { path, detail: found });
      fault = found;
    }
  }

  const checks = repeat(check, checkEveryMs);
  return { current: () => loaded.enrolment, close: () => checks.close() };
}

async function load(path: string): Promise<Loaded> {
  const { clusters } = await readJson(path, clustersSchema);
  const paths = [path, ...clusters.map(({ jwksFile }) => resolve(dirname(path), jwksFile))];
  const signature = await signatureOf(paths);
  const names = new Set<string>();
  const enrolled: Enrolled[] = [];
  for (const { name, issuer, jwksFile, acceptAnyNode } of clusters) {
    if (names.has(name)) throw new Error(`${path}: cluster "${name}" is there twice`);
    names.add(name);
    const { keys } = await readJson(resolve(dirname(path), jwksFile), keySetSchema);
    enrolled.push({ caller: { name, acceptAnyNode, pools: undefined }, issuer, keys });
  }
  const { enrolment, faults } = await createEnrolment(enrolled);
  const [fault] = faults;
  if (fault) throw new Error(`${path}: ${fault.issuer}: ${fault.detail}`);
  return { enrolment, signature, paths };
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
