import type { z } from 'zod';
import type { FoundPlugins } from '../pools/plugins.ts';
import { clusterSchema, configFileSchema, operatorsSchema, type ConfigFile } from './file.ts';
import { type Data, writtenPoolsOf } from './mend.ts';

/** The parts of a file that have no fault: whole pools, and members of clusters and of operators. */
export type FaultlessParts = {
  readonly file: ConfigFile;
  readonly hasFaultyCallers: boolean;
};

/** Finds the parts that can be checked despite the faults of others. */
export function findFaultless(
  data: Data,
  found: FoundPlugins,
  issues: readonly z.core.$ZodIssue[],
): FaultlessParts {
  const pools = writtenPoolsOf(data);
  const names = Object.keys(pools);
  const { shape } = configFileSchema(found, names);
  const sound = Object.entries(pools).flatMap(([name, entry]) =>
    Object.entries(shape.pools.safeParse({ [name]: entry }).data ?? {}),
  );
  const cluster = clusterSchema(names).shape;
  const clusters = Object.entries(Object(data['clusters']) as Data).map(
    ([name, entry]) => [name, soundMembers(cluster, entry)] as const,
  );
  const operators = soundMembers(operatorsSchema.shape, data['operators']);
  return {
    file: {
      pools: Object.fromEntries(sound),
      clusters: Object.fromEntries(clusters),
      operators,
    } as unknown as ConfigFile,
    hasFaultyCallers: issues.some(({ path: [part] }) => part === 'clusters' || part === 'operators'),
  };
}

/** Parses each member by itself, and leaves faulty ones out. */
function soundMembers(shape: Readonly<Record<string, z.ZodType>>, entry: unknown): Data {
  const members = Object.entries(shape).flatMap(([name, schema]) => {
    const { success, data } = schema.safeParse((Object(entry) as Data)[name]);
    return success && data !== undefined ? [[name, data] as const] : [];
  });
  return Object.fromEntries(members);
}
