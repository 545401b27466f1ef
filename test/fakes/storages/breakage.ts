import type { Disk } from '../../../examples/vendor-hono/disk.ts';
import type { AccessMode } from '../../../src/api/storage.ts';
import type { AnyAnswer, Authenticator, Offer } from '../../../src/sdk/server/vendor.ts';
import type { BasicOperations, withGroupsAndNodes } from './features/groups-and-nodes.ts';
import type { requirements } from '../../../src/kit/requirements.ts';

/** The time between a look and the change that depends on it, in milliseconds, so that two callers both look first. */
export const raceMs = 100;

/** The time between an answer and its late effect, in milliseconds. */
export const lateMs = 700;

/** The correct operations with those on groups and nodes. */
export type CorrectOperations = BasicOperations &
  Omit<ReturnType<typeof withGroupsAndNodes>, keyof BasicOperations>;

/** An operation that may replace a correct one; its request is typed as the reference vendor reads it. */
export type Operation<Id extends keyof CorrectOperations> = (
  asked: Parameters<CorrectOperations[Id]>[0] & object,
) => AnyAnswer | Promise<AnyAnswer>;

/** Answers requests, with the signature of runtimes that speak Fetch. */
export type Fetch = (request: Request) => Promise<Response>;

/** A faulty vendor: the reference vendor with one change. */
export type Breakage = {
  /** The fault, in one sentence. */
  readonly wrong: string;
  /** The requirement that detects the fault. */
  readonly caughtBy: keyof typeof requirements;
  /** Operations in place of the correct ones. */
  readonly operations?: (
    right: CorrectOperations,
    disk: Disk,
  ) => { readonly [Id in keyof CorrectOperations]?: Operation<Id> };
  /** Changes requests and answers. */
  readonly fetch?: (right: Fetch) => Fetch;
  readonly authenticate?: (right: Authenticator) => Authenticator;
  /** Changes the offer against which requests are checked. */
  readonly offer?: (right: Offer) => Offer;
  /** The offered access modes in place of those for one node: several nodes may then have a volume. */
  readonly accessModes?: readonly AccessMode[];
  /** True if the vendor also offers groups and nodes. */
  readonly hasGroupsAndNodes?: true;
  /** True if the vendor also imports volumes. */
  readonly hasImports?: true;
  /** The requests, such as `PUT /v1/volumes/v`, that the vendor does not serialize with others; true for all. */
  readonly isHasty?: true | RegExp;
  /** The kit's timeout of one operation in milliseconds, for a fault that makes one hang. */
  readonly timeoutMs?: number;
  /** The prerequisite to see the fault: a restart, tokens that a key has signed, or data that is read and written. */
  readonly needs?: 'restart' | 'key' | 'data';
};

/** Changes members of an answer; an answer that is no document stays as it is. */
export async function changeAnswer(
  answer: AnyAnswer | Promise<AnyAnswer>,
  change: (document: Members) => object,
): Promise<AnyAnswer> {
  const [status, document] = await answer;
  return document ? [status, { ...document, ...change(document as Members) }] : [status];
}

/** Accepts parameters of any name. */
export function withoutSchemas(right: Offer): Offer {
  return { ...right, parameters: {} };
}

/** A document in an answer. */
export type Members = Record<string, unknown> & { readonly id: string; readonly sizeBytes: number };
