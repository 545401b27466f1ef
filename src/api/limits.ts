import { maxIdBytes, maxMapBytes } from './ids.ts';
import { overloadedProblem, Problem, type ProblemCode } from './problem.ts';

/** A bound on something that a cluster can make grow. */
export type Limit = {
  readonly max: number;
  /** The unit that is counted, in the plural. */
  readonly unit: string;
  /** The thing that is bounded, for the page of limits. */
  readonly of: string;
  /** The code that answers more; `cut`: the answer has no more. */
  readonly code: ProblemCode | 'cut';
  /** The way out for a caller who meets the limit. */
  readonly remedy: string;
};

export const maxAnswerBytes = 4 * 1024 * 1024;

const shorter = 'give fewer or shorter ones';

/** All limits by the names that messages and the page of limits show. Quotas of clusters apply in addition. */
export const limits = {
  // Two lists of `topologyTerms` terms of 80 bytes; `JSON.parse` reads as much in about 4 ms.
  bodyBytes: {
    max: 1.25 * 1024 * 1024,
    unit: 'bytes',
    of: 'the body of a request',
    code: 'INVALID_ARGUMENT',
    remedy: 'send less',
  },
  pageEntries: {
    max: 1_000,
    unit: 'entries',
    of: 'one page of a list, which ends earlier where its entries are long',
    code: 'cut',
    remedy: 'ask for the next page',
  },
  blocksPerPage: {
    max: 4_096,
    unit: 'extents',
    of: 'one page of blocks',
    code: 'cut',
    remedy: 'ask for the next page',
  },
  nameBytes: {
    max: maxIdBytes,
    unit: 'bytes',
    of: 'a name or an id',
    code: 'INVALID_ARGUMENT',
    remedy: 'choose a shorter one',
  },
  nodeIdBytes: {
    max: 256,
    unit: 'bytes',
    of: 'the id of a node',
    code: 'INVALID_ARGUMENT',
    remedy: 'choose a shorter one',
  },
  mapBytes: {
    max: maxMapBytes,
    unit: 'bytes',
    of: 'the keys and values of parameters, mutable parameters, a context or a topology together',
    code: 'INVALID_ARGUMENT',
    remedy: shorter,
  },
  capabilities: {
    max: 64,
    unit: 'capabilities',
    of: 'the ways to use one volume',
    code: 'INVALID_ARGUMENT',
    remedy: 'give fewer',
  },
  mountFlags: {
    max: 64,
    unit: 'flags',
    of: 'the mount flags of one capability',
    code: 'INVALID_ARGUMENT',
    remedy: 'give fewer',
  },
  mountFlagBytes: {
    max: 4_096,
    unit: 'bytes',
    of: 'the mount flags of one capability together',
    code: 'INVALID_ARGUMENT',
    remedy: shorter,
  },
  topologyTerms: {
    max: 8_192,
    unit: 'terms',
    of: 'each list of a topology requirement: a cluster may name each of its nodes',
    code: 'INVALID_ARGUMENT',
    remedy: 'name fewer',
  },
  groupMembers: {
    max: 64,
    unit: 'volumes',
    of: 'one group of snapshots',
    code: 'INVALID_ARGUMENT',
    remedy: 'make several groups',
  },
  recordBytes: {
    max: 16_384,
    unit: 'bytes',
    of: 'the record of one volume, snapshot, group, node or attachment, as JSON, without additions by the storage',
    code: 'INVALID_ARGUMENT',
    remedy: 'give fewer or shorter capabilities, mount flags and parameters',
  },
  volumesPerCluster: {
    max: 500_000,
    unit: 'volumes',
    of: 'one cluster, deleted ones included that can be restored; its quota replaces it',
    code: 'RESOURCE_EXHAUSTED',
    remedy: 'delete some, or ask the operator for the quota "volumes"',
  },
  snapshotsPerCluster: {
    max: 500_000,
    unit: 'snapshots',
    of: 'one cluster, members of groups included; its quota replaces it',
    code: 'RESOURCE_EXHAUSTED',
    remedy: 'delete some, or ask the operator for the quota "snapshots"',
  },
  snapshotsPerVolume: {
    max: 1_024,
    unit: 'snapshots',
    of: 'one volume, members of groups included',
    code: 'RESOURCE_EXHAUSTED',
    remedy: 'delete old ones',
  },
  attachmentsPerVolume: {
    max: 1_024,
    unit: 'attachments',
    of: "one volume at its owner's nodes, and as many at the nodes of all other clusters together",
    code: 'FAILED_PRECONDITION',
    remedy: 'detach it from nodes that do not need it',
  },
  attachmentsPerCluster: {
    max: 500_000,
    unit: 'attachments',
    of: 'the nodes of one cluster together',
    code: 'FAILED_PRECONDITION',
    remedy: 'detach volumes that are not needed',
  },
  nodesPerCluster: {
    max: 10_000,
    unit: 'nodes',
    of: 'one cluster: twice as many as Kubernetes has, since a node counts until it is deleted',
    code: 'RESOURCE_EXHAUSTED',
    remedy: 'delete unused ones',
  },
  grantsPerVolume: {
    max: 64,
    unit: 'grants',
    of: 'one volume for attachments, or of one volume or snapshot for copies; accepted or not, each to a cluster that is enrolled',
    code: 'RESOURCE_EXHAUSTED',
    remedy: 'revoke one that is not needed',
  },
  requestsPerCluster: {
    max: 256,
    unit: 'requests in flight',
    of: "a cluster's requests in flight",
    code: 'UNAVAILABLE',
    remedy: 'try again later',
  },
  requestBytesPerCluster: {
    max: 16 * 1024 * 1024,
    unit: 'bytes of requests in flight',
    of: "a cluster's bodies that are being read",
    code: 'UNAVAILABLE',
    remedy: 'try again later',
  },
  waitingPerCluster: {
    max: 512,
    unit: 'waiting operations',
    of: "a cluster's operations that wait at one pool",
    code: 'UNAVAILABLE',
    remedy: 'try again later',
  },
  changesPerHour: {
    max: 1_000_000,
    unit: 'changes in an hour',
    of: "a cluster's successful changes in one hour at one gateway, each an entry of the audit log",
    code: 'UNAVAILABLE',
    remedy: 'try again in the next hour; deleting, detaching and revoking go on',
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof limits;

/** The rest of a message about a value beyond a limit, which follows its subject. */
export function limitDetail(name: LimitName, value: number): string {
  const { max, unit, remedy } = limits[name];
  return `must have at most ${max} ${unit}, and would have ${value}: ${remedy} (limit "${name}")`;
}

/** The problem of a subject, such as `volume "east.pvc-1"`, that would have a value beyond a limit. */
export function limitProblem(
  name: Exclude<LimitName, 'pageEntries' | 'blocksPerPage'>,
  subject: string,
  value: number,
): Problem {
  const { code } = limits[name];
  const detail = `${subject} ${limitDetail(name, value)}`;
  return code === 'UNAVAILABLE' ? overloadedProblem(detail, 1) : new Problem(code, detail);
}
