import type { TestContext } from 'node:test';
import type { InstalledCluster } from '../installation/installation.ts';
import type { Judge } from './judge.ts';
import { runSpecs, type Selection } from './specs.ts';

/** The specs that a selection ran: their names, and the number of faults. */
export type TestedSpecs = { readonly names: readonly string[]; readonly faults: number };

/** Runs specs as subtests, each as it ends. */
export async function testSpecs(
  t: TestContext,
  served: InstalledCluster,
  { judge, ...selection }: Selection & { readonly judge: Judge },
): Promise<TestedSpecs> {
  const names: string[] = [];
  let faults = 0;
  for await (const spec of runSpecs(served, selection)) {
    const verdict = judge.judge(spec);
    if (verdict === undefined) continue;
    const { fault, skip = false } = verdict;
    names.push(spec.name);
    if (fault !== undefined) faults += 1;
    await t.test(`${spec.name} (${Math.round(spec.seconds)} s)`, { skip }, () => {
      if (fault !== undefined) throw new Error(fault);
    });
  }
  return { names, faults };
}
