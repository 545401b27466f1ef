import type { Finding } from '../../src/api/admin.ts';
import type { Operations as Rows, Output } from '../../src/api/operations.ts';
import { asProblem } from '../../src/api/problem.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import type { RefusedTokens } from '../callers/visits.ts';
import { type KeyFault, keyFaultsInService } from '../configuration/read.ts';
import type { Engine, Reader } from '../store.ts';
import { readMissed, readTime, readTimeOfCheck } from '../tables/clock.ts';
import { listRetired } from '../tables/closures.ts';
import { countFindings, listFindings } from '../tables/findings.ts';
import { showRefused } from './state.ts';
import { countVolumesAt, listMissingNodes } from '../tables/nodes.ts';

/** The facts about a gateway that only its process knows. */
export type GatewayFacts = {
  readonly version: string;
  readonly host?: string | undefined;
  /** The lead of its clock over the last time in the store, in milliseconds. */
  readonly skewMs: () => number;
  readonly keyFaults: () => readonly KeyFault[];
  readonly configurationFaults: () => readonly string[];
  /** The refused tokens of the last 5 minutes. */
  readonly refusedTokens: () => readonly RefusedTokens[];
  /** True if it serves the console. */
  readonly servesConsole: boolean;
};

/** The store must answer within this time, in milliseconds. */
const answerMs = 2_000;
const maxNodes = 100;
/** The number of findings that are shown, and that are counted. */
const [maxFindings, maxCounted] = [100, 1_000];
/** Unfinished work is stuck after this time, in milliseconds. */
const stuckAfterMs = 600_000;

const details: Readonly<Record<Finding['problem'], string>> = {
  unknown: 'in the storage, not in the store',
  missing: 'in the store, not in the storage',
  stuck: 'work does not end',
};

type Status = Output<Rows['getStatus']>;

/** Creates the report about this gateway. It also answers while the store does not. */
export function createStatus(
  { reader }: Pick<Engine, 'reader'>,
  { version, host, skewMs, keyFaults, configurationFaults, refusedTokens, servesConsole }: GatewayFacts,
) {
  const startedAt = new Date().toISOString();
  return async (): Promise<Status> => {
    const startMs = performance.now();
    const read = readStore(reader).catch((error: unknown) => ({ fault: asProblem(error).detail }));
    const { value: found } = (await withinTime(read, answerMs)) ?? {
      value: { fault: `no answer within ${answerMs / 1_000} s` },
    };
    const isDown = 'fault' in found;
    const faultsOfKeys = keyFaultsInService(keyFaults(), isDown ? undefined : found.retired);
    return {
      version,
      ...(host !== undefined && { host }),
      startedAt,
      servesConsole,
      clockSkewMs: Math.round(skewMs()),
      configurationFaults: [...configurationFaults()],
      keyFaults: faultsOfKeys.map(({ cluster, detail }) => ({ caller: cluster, detail })),
      refusedTokens: refusedTokens().map(showCaller),
      store: isDown
        ? { answers: false, fault: found.fault }
        : { answers: true, answerMs: Math.round(performance.now() - startMs) },
      missingNodes: isDown ? [] : found.missingNodes,
      check: isDown ? { total: 0, findings: [] } : found.check,
    };
  };
}

/** Shows refused tokens, with their cluster if it is known. */
function showCaller(refused: RefusedTokens) {
  const { cluster } = refused;
  return { ...(cluster !== undefined && { cluster }), ...showRefused(refused) };
}

async function readStore(reader: Reader) {
  const [missingNodes, check] = [await readMissingNodes(reader), await readCheck(reader)];
  return { missingNodes, check, retired: await listRetired(reader) };
}

async function readMissingNodes(reader: Reader): Promise<Status['missingNodes']> {
  const missing = await listMissingNodes(reader, maxNodes);
  return Promise.all(
    missing.map(async ({ cluster, nodeId, goneMs = 0 }) => ({
      cluster,
      nodeId,
      since: new Date(goneMs).toISOString(),
      volumes: await countVolumesAt(reader, { cluster, nodeId }),
    })),
  );
}

async function readCheck(reader: Reader): Promise<Status['check']> {
  const atMs = await readTimeOfCheck(reader);
  const seenMs = (await readTime(reader)) - (await readMissed(reader));
  const stuckBeforeMs = seenMs - stuckAfterMs;
  const rows = await listFindings(reader, { stuckBeforeMs, limit: maxFindings });
  return {
    ...(atMs !== undefined && { at: new Date(atMs).toISOString() }),
    total: await countFindings(reader, { stuckBeforeMs, max: maxCounted }),
    findings: rows.map(({ pool, kind, id, problem, firstSeenMs }) => ({
      pool,
      kind,
      id,
      problem,
      ageMs: Math.max(0, seenMs - firstSeenMs),
      detail: details[problem],
    })),
  };
}
