import type { StorageClient } from '../api/client.ts';
import { asProblem, invalidProblem, type Problem, unavailableProblem } from '../api/problem.ts';
import { hasFeature, type Capabilities, type Feature } from '../api/storage.ts';
import type { _csi_v1_ControllerServiceCapability_RPC_Type as RpcType } from '../csi/generated/csi/v1/ControllerServiceCapability.ts';
import { advertisable, type Advertisable, type Advertised } from '../csi/identity.ts';
import { pause } from '../lib/concurrency.ts';
import { sameJson } from '../lib/json.ts';
import type { Log } from '../lib/log.ts';
import { isVendor } from './vendor.ts';

/** What the services of the controller work with. */
export type ControllerOptions = {
  readonly client: StorageClient;
  readonly capabilities: ReturnType<typeof createCapabilitySource>;
  readonly cluster: string;
  /** What the plugin advertises as a whole: the rest is neither given nor taken. */
  readonly advertised: Advertised;
};

const askTimeoutMs = 10_000;
const firstPauseMs = 250;
const longestPauseMs = 15_000;

/** What is called with each answer that says something new, and how long an answer stands until it is looked at again. */
type SourceOptions = {
  readonly learned: (capabilities: Capabilities) => void;
  readonly lookEveryMs?: number;
};

/**
 * Asks what the storage can do until the gateway answers, and then every so often: a pool that waited offers more once it is
 * there. Sidecars, which ask once, learn of that when they start anew.
 */
export function createCapabilitySource(
  client: Pick<StorageClient, 'getCapabilities'>,
  log: Log,
  { learned, lookEveryMs = 60_000 }: SourceOptions,
) {
  let known: Capabilities | undefined;
  let reason = 'it was not asked yet';
  const closing = new AbortController();

  async function look(): Promise<void> {
    const found = await client.getCapabilities({}, { deadlineMs: Date.now() + askTimeoutMs });
    if (sameJson(found, known)) return;
    known = found;
    const pools = known.pools.map(({ name, backend }) => `${name} (${backend})`);
    log.info('the gateway reported its capabilities', { detail: pools.join(', ') });
    learned(known);
  }

  async function ask(): Promise<void> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await look();
      } catch (error) {
        if (closing.signal.aborted) return;
        reason = asProblem(error).detail;
        if (!known) log.warn('the gateway did not report its capabilities', { detail: reason });
      }
      await pause((known ? lookEveryMs : pauseMs) * (0.5 + Math.random()), closing.signal);
    }
  }

  // It fails only when it is closed while it pauses.
  ask().catch(() => {});
  return {
    /** Throws UNAVAILABLE, with the reason, until the gateway has answered once. */
    get(): Capabilities {
      if (!known) throw unavailableProblem(`the gateway has not reported its capabilities: ${reason}`);
      return known;
    },
    isKnown: () => known !== undefined,
    /** Stops asking. */
    close: () => closing.abort(),
  };
}

/** What the Controller service offers in front of a storage with these capabilities. */
export function offeredRpcs(storage: Capabilities): RpcType[] {
  const has = (feature: Feature, ...types: RpcType[]): RpcType[] =>
    hasFeature(storage, feature) ? types : [];
  return [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    ...has('capacity', 'GET_CAPACITY'),
    // A snapshot that no volume can be made from is of no use to a cluster (CSI spec, "ControllerGetCapabilities").
    ...(hasFeature(storage, 'restore')
      ? has('snapshots', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT')
      : []),
    ...has('clone', 'CLONE_VOLUME'),
    'PUBLISH_READONLY',
    ...has('expand', 'EXPAND_VOLUME'),
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
    ...(storage.accessModes.includes('SINGLE_NODE_MULTI_WRITER')
      ? (['SINGLE_NODE_MULTI_WRITER'] as const)
      : []),
    ...has('modify', 'MODIFY_VOLUME'),
    ...has('health', 'GET_VOLUME_HEALTH'),
    ...(isVendor(storage) ? [] : has('health', 'LIST_VOLUME_HEALTH')),
  ];
}

/** INVALID_ARGUMENT for a field that must not be given. */
export function unofferedProblem(field: string): Problem {
  return invalidProblem(`${field} is given, but this driver does not offer it`);
}

/** What a storage must have for what is advertised. */
const needs: Readonly<Record<Advertisable, readonly Feature[]>> = {
  'group-snapshots': ['groups'],
  'changed-blocks': ['changes'],
  topology: ['topology'],
  'snapshot-topology': ['topology', 'snapshots'],
};

/** One sentence for each word on which the setting, which is the same on all nodes, and the storage do not agree. */
export function findDisagreements(advertised: Advertised, storage: Capabilities): readonly string[] {
  return advertisable.flatMap(word => {
    const has = needs[word].every(feature => hasFeature(storage, feature));
    if (has === advertised.includes(word)) return [];
    return has
      ? [`the storage has "${word}", and --plugin-capabilities does not: clusters do without it`]
      : [`--plugin-capabilities has "${word}", and the storage does not: clusters count on it in vain`];
  });
}
