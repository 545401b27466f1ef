import type { Capabilities } from '../../api/storage.ts';
import { findForeign, readCapabilities } from './begin.ts';
import { checks } from './checks/index.ts';
import { cleanUp } from './clean-up.ts';
import { isFinding } from './finding.ts';
import { createKit, type Kit, type KitOptions } from './kit/kit.ts';
import { createLedger } from './kit/ledger.ts';
import { createRandom } from './kit/random.ts';
import { resultOf, toResults, type Report, type Result } from './report.ts';
import { requirementIds, requirements, type RequirementId } from './requirements.ts';

/** A run of the kit. */
export type VerifyOptions = Omit<KitOptions, 'hasForeign'> & {
  /** All choices of the run come from it. */
  readonly seed: number;
  /** Ids of requirements, sections or chapters (`FL-3`, `FL-3.2`); none: all. */
  readonly only: readonly string[];
  readonly allowForeign: boolean;
  /** Ends the run early; what it made is removed still. */
  readonly signal: AbortSignal;
  /** Ends the removal early, too. */
  readonly abandoned?: AbortSignal;
  /** Called for each result as soon as there is one. */
  readonly show?: (result: Result) => void;
};

/** How many times as long as one operation a check may take. */
const checkFactor = 10;
const nothing: Capabilities = { version: '', accessModes: [], accessTypes: [], features: [], pools: [] };

/**
 * Proves a vendor's server against the requirements, and removes all that it made. An error, and nothing was tried, when
 * nothing answers, the credentials are not accepted, or the server holds what is not the kit's.
 */
export async function verify(options: VerifyOptions): Promise<Report> {
  const { target, seed, signal } = options;
  const startedMs = Date.now();
  const results = new Map<RequirementId, Result>();
  const add = (result: Result): void => {
    if (!isNews(results.get(result.id), result)) return;
    results.set(result.id, result);
    options.show?.(result);
  };
  const run = await begin(options, add);
  for (const id of run.isBegun ? selectedOf(options) : []) {
    if (signal.aborted) break;
    for (const result of await check(id, run, options)) add(result);
    await cleanUp(run.remover);
  }
  return {
    url: target.url.href,
    version: run.capabilities.version,
    seed,
    startedAt: new Date(startedMs).toISOString(),
    tookMs: Date.now() - startedMs,
    results: requirementIds.flatMap(id => results.get(id) ?? []),
    left: await cleanUpFinally(run.remover),
    isInterrupted: signal.aborted,
  };
}

/** What the checks of a run have in common. */
type Run = {
  readonly isBegun: boolean;
  readonly capabilities: Capabilities;
  readonly remover: Kit;
  kitFor(name: string, signal: AbortSignal): Kit;
};

async function begin(options: VerifyOptions, add: (result: Result) => void): Promise<Run> {
  const { seed, target, prefix, signal, abandoned = new AbortController().signal } = options;
  let made = 0;
  // A run that is repeated with its seed meets other ids: what an earlier one left must not matter.
  const marker = `s${seed}-${Date.now().toString(36)}-`;
  const id = (): string => `${prefix}${marker}${++made}`;
  const ofRun = { ...options, ledger: createLedger(), run: marker, id, hasForeign: false };
  const random = createRandom(seed, 'begin');
  const first = createKit({ ...ofRun, capabilities: nothing, random });
  try {
    const capabilities = await readCapabilities(first);
    const { count, example, others } = await findForeign(createKit({ ...ofRun, capabilities, random }));
    if (count > 0 && !options.allowForeign)
      throw new Error(
        `"${target.url.href}" holds ${count} volumes and snapshots that are not the kit's, such as "${example}": take one that holds none, or --allow-foreign`,
      );
    const known = { ...ofRun, capabilities, hasForeign: count + others > 0 };
    const remover = createKit({ ...known, random, signal: abandoned });
    await cleanUp(remover);
    const kitFor: Run['kitFor'] = (name, end) =>
      createKit({ ...known, random: createRandom(seed, name), signal: end });
    return { isBegun: true, capabilities, remover, kitFor };
  } catch (error) {
    if (!isFinding(error) || signal.aborted) throw error;
    for (const result of toResults('FL-1.1-1', error, { seed, tookMs: 0, target, trail: first.trail }))
      add(result);
    return { isBegun: false, capabilities: nothing, remover: first, kitFor: () => first };
  }
}

async function check(
  id: RequirementId,
  run: Run,
  { seed, target, timeoutMs, signal }: VerifyOptions,
): Promise<readonly Result[]> {
  const startedMs = performance.now();
  const late = AbortSignal.timeout(checkFactor * timeoutMs);
  const kit = run.kitFor(id, AbortSignal.any([signal, late]));
  const tookMs = (): number => Math.round(performance.now() - startedMs);
  const { feature } = requirements[id];
  if (feature && !kit.has(feature)) {
    const because = `the vendor does not offer "${feature}"`;
    return [resultOf(id, 'SKIP', { seed, tookMs: 0, because })];
  }
  try {
    await checks.get(id)?.(kit);
    return [resultOf(id, 'PASS', { seed, tookMs: tookMs() })];
  } catch (error) {
    if (signal.aborted) return [];
    const found = late.aborted ? new Error('the check ends in time') : error;
    return toResults(id, found, { seed, tookMs: tookMs(), target, trail: kit.trail });
  }
}

/** Tries once more to remove what could not be removed; what is left still. */
async function cleanUpFinally(kit: Kit): Promise<readonly string[]> {
  kit.ledger.recall();
  await cleanUp(kit);
  kit.ledger.recall();
  return kit.ledger.removals().map(({ input }) => Object.values(input).join(' on '));
}

function selectedOf({ only }: VerifyOptions): readonly RequirementId[] {
  return requirementIds.filter(id => only.length === 0 || only.some(asked => isMeant(id, asked)));
}

function isMeant(id: RequirementId, asked: string): boolean {
  return id === asked || id.startsWith(`${asked}.`) || id.startsWith(`${asked}-`);
}

/** A fault stands, whatever else is found of the requirement. */
function isNews(known: Result | undefined, { outcome }: Result): boolean {
  const isFault = outcome === 'FAIL' || outcome === 'WARN';
  return !known || (isFault && known.outcome !== 'FAIL' && known.outcome !== 'WARN');
}
