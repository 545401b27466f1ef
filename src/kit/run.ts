import type { Capabilities } from '../api/storage.ts';
import type { Progress } from '../lib/words/notice.ts';
import { findForeign, readCapabilities } from './preflight.ts';
import { cleanUp } from './clean-up.ts';
import { isFinding, unproved } from './finding.ts';
import type { KitOptions } from './http/calls.ts';
import { createKit, type Kit } from './fixtures/kit.ts';
import { detachedAttachments } from './http/contradiction.ts';
import { createLedger } from './http/ledger.ts';
import { createRandom } from './random.ts';
import { resultOf, toResults, type Report, type Result, type Standing } from './report.ts';
import { checkFactor } from './requirement.ts';
import { requirementIds, requirementOf } from './requirements.ts';
import type { RequirementId } from './sections.ts';

export type VerifyOptions = Omit<KitOptions, 'hasForeign'> & {
  /** Determines all random choices of the run. */
  readonly seed: number;
  /** Ids of the requirements, sections or chapters to check, such as `FL-3` and `FL-3.2`; empty for all. */
  readonly only: readonly string[];
  /** Ends the run at the first MUST that does not hold. */
  readonly isFailFast?: boolean;
  /** Runs even if the server holds volumes or snapshots that no run of the kit has made. */
  readonly allowForeign: boolean;
  /** Ends the run early; the clean-up still happens. */
  readonly signal: AbortSignal;
  /** Ends the clean-up early, too. */
  readonly abandoned?: AbortSignal;
  /** Announces work that takes long. */
  readonly announce?: <T>(work: Promise<T>, progress: Progress) => Promise<T>;
  /** Called with each result as soon as it is known. */
  readonly show?: (result: Result) => void;
};

const noCapabilities: Capabilities = {
  version: '',
  accessModes: [],
  accessTypes: [],
  features: [],
  pools: [],
};

/**
 * Checks a vendor's server against the requirements, and removes everything that it created there. Throws before the first
 * check when nothing answers, when the credentials are refused, or when the server holds foreign volumes or snapshots.
 */
export async function verify(options: VerifyOptions): Promise<Report> {
  const { target, seed, signal, only, isFailFast = false, announce = work => work } = options;
  requireSelectors(only);
  const startedMs = Date.now();
  const results = new Map<RequirementId, Result>();
  const add = (result: Result): void => {
    // A fault replaces a pass or a skip, and nothing replaces a fault.
    const known = results.get(result.id);
    if (known && (isFault(known) || !isFault(result))) return;
    results.set(result.id, result);
    options.show?.(result);
  };
  const standingOf = (id: RequirementId): Standing => {
    const known = results.get(id);
    if (known) return isFault(known) ? 'failed' : 'passed';
    return selectedOf(options).includes(id) ? 'pending' : 'unselected';
  };
  const run = await announce(begin(options, add), { what: `answers of "${target.url.href}"` });
  const chosen = run.isReady ? selectedOf(options) : [];
  for (const [done, id] of chosen.entries()) {
    if (signal.aborted || (isFailFast && hasFailed(results))) break;
    const progress = (what: string): Progress => ({ what, done, total: chosen.length, unit: 'requirements' });
    const checking = check(id, run, { ...options, standingOf });
    for (const result of await announce(checking, progress(`the check of ${id}`))) add(result);
    await announce(cleanUp(run.remover), progress(`the clean-up after ${id}`));
  }
  return {
    url: target.url.href,
    version: run.capabilities.version,
    seed,
    startedAt: new Date(startedMs).toISOString(),
    tookMs: Date.now() - startedMs,
    results: requirementIds.flatMap(id => results.get(id) ?? []),
    left: await announce(cleanUpFinally(run.remover), { what: 'the clean-up at the end' }),
    isInterrupted: signal.aborted,
  };
}

type Run = {
  /** False when the vendor's capabilities or lists are faulty, so that no check can run. */
  readonly isReady: boolean;
  readonly capabilities: Capabilities;
  /** The kit that cleans up after each check. */
  readonly remover: Kit;
  kitFor(name: string, signal: AbortSignal): Kit;
};

async function begin(options: VerifyOptions, add: (result: Result) => void): Promise<Run> {
  const { seed, target, prefix, signal, abandoned = new AbortController().signal } = options;
  let made = 0;
  // The time makes the ids of a repeated run differ, so that leftovers of the earlier run do not disturb it.
  const marker = `s${seed}-${Date.now().toString(36)}-`;
  const id = (): string => `${prefix}${marker}${++made}`;
  const runOptions = { ...options, ledger: createLedger(), run: marker, id, hasForeign: false };
  const random = createRandom(seed, 'begin');
  const first = createKit({ ...runOptions, capabilities: noCapabilities, random });
  try {
    const capabilities = await readCapabilities(first);
    const { count, example, others } = await findForeign(createKit({ ...runOptions, capabilities, random }));
    if (count > 0 && !options.allowForeign)
      throw new Error(
        `"${target.url.href}" holds ${count} volumes and snapshots that the kit did not create, such as "${example}": use an empty server, or --allow-foreign`,
      );
    const known = { ...runOptions, capabilities, hasForeign: count + others > 0 };
    const remover = createKit({ ...known, random, signal: abandoned, isPatient: true });
    await cleanUp(remover);
    const kitFor: Run['kitFor'] = (name, end) =>
      createKit({ ...known, random: createRandom(seed, name), signal: end });
    return { isReady: true, capabilities, remover, kitFor };
  } catch (error) {
    if (!isFinding(error) || signal.aborted) throw error;
    for (const result of toResults('FL-1.1-1', error, { seed, tookMs: 0, target, trail: first.trail }))
      add(result);
    return { isReady: false, capabilities: noCapabilities, remover: first, kitFor: () => first };
  }
}

async function check(
  id: RequirementId,
  run: Run,
  {
    seed,
    target,
    timeoutMs,
    signal,
    standingOf,
  }: VerifyOptions & { readonly standingOf: (id: RequirementId) => Standing },
): Promise<readonly Result[]> {
  const startedMs = performance.now();
  const late = AbortSignal.timeout(checkFactor * timeoutMs);
  const kit = run.kitFor(id, AbortSignal.any([signal, late]));
  const tookMs = (): number => Math.round(performance.now() - startedMs);
  const { feature, check: test } = requirementOf(id);
  if (feature && !kit.has(feature)) {
    const because = `the vendor does not offer "${feature}"`;
    return [resultOf(id, 'SKIP', { seed, tookMs: 0, because })];
  }
  try {
    await test(kit, id);
    return [resultOf(id, 'PASS', { seed, tookMs: tookMs() })];
  } catch (error) {
    if (signal.aborted) return [];
    // Each operation has its own time limit, so a check that takes long shows no fault.
    const isLate = late.aborted && !isFinding(error);
    const limit = `the check takes longer than ${checkFactor * timeoutMs} ms; give more time with --timeout`;
    const found = isLate ? unproved(limit) : error;
    const trail = [...kit.trail];
    const cause = await findCause(kit, found, standingOf);
    return toResults(id, cause, { seed, tookMs: tookMs(), target, trail, standingOf });
  }
}

const detaching: RequirementId = 'FL-4.3-1';

/**
 * Returns the fault of a detach without an effect in place of an error that it may have caused. Looks for one until the check of
 * detaching has passed.
 */
async function findCause(
  kit: Kit,
  error: unknown,
  standingOf: (id: RequirementId) => Standing,
): Promise<unknown> {
  const isOther = isFinding(error) && (error.kind !== 'fault' || error.requirement !== undefined);
  if (isOther || !['pending', 'failed'].includes(standingOf(detaching))) return error;
  try {
    for (const ids of detachedAttachments(kit.trail)) await kit.ask('getAttachment', ids);
  } catch (cause) {
    if (isFinding(cause) && cause.requirement === detaching) return cause;
  }
  return error;
}

/** Tries once more to remove resources that were set aside, and returns the ids of the remaining ones. */
async function cleanUpFinally(kit: Kit): Promise<readonly string[]> {
  kit.ledger.recall();
  await cleanUp(kit);
  kit.ledger.recall();
  return kit.ledger.removals().map(({ input }) => Object.values(input).join(' on '));
}

function hasFailed(results: ReadonlyMap<RequirementId, Result>): boolean {
  return [...results.values()].some(({ outcome }) => outcome === 'FAIL');
}

/** Throws when one of the selectors names no requirement, section or chapter. */
export function requireSelectors(only: readonly string[]): void {
  const unknown = only.filter(selector => !requirementIds.some(id => isSelected(id, selector)));
  if (unknown.length === 0) return;
  const names = unknown.map(one => `"${one}"`).join(', ');
  throw new Error(
    `--only ${names}: no requirement, section or chapter has this name; write it as in the document, such as FL-3.2-1, FL-3.2 or FL-3`,
  );
}

function selectedOf({ only }: VerifyOptions): readonly RequirementId[] {
  return requirementIds.filter(id => only.length === 0 || only.some(selector => isSelected(id, selector)));
}

function isSelected(id: RequirementId, selector: string): boolean {
  return id === selector || id.startsWith(`${selector}.`) || id.startsWith(`${selector}-`);
}

function isFault({ outcome }: Result): boolean {
  return outcome === 'FAIL' || outcome === 'WARN';
}
