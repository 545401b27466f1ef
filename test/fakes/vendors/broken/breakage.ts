import type { createAttachments } from '../../../../examples/vendor-hono/attachments.ts';
import type { Disk } from '../../../../examples/vendor-hono/disk.ts';
import type { createSnapshots } from '../../../../examples/vendor-hono/snapshots.ts';
import type { createVolumes } from '../../../../examples/vendor-hono/volumes.ts';
import type { Answer, AnyAnswer, Authenticate, Offer } from '../../../../gateway/vendor/vendor.ts';
import type { RequirementId } from '../../../../src/cli/verify/requirements.ts';

/** The reference vendor's operations, which are right. */
export type Right = ReturnType<typeof createVolumes> &
  ReturnType<typeof createAttachments> &
  ReturnType<typeof createSnapshots> & { readonly getCapabilities: () => Answer<'getCapabilities'> };

/** An operation that another may stand in for; what is asked is as the reference vendor reads it. */
export type Operation<Id extends keyof Right> = (
  asked: Parameters<Right[Id]>[0] & object,
) => AnyAnswer | Promise<AnyAnswer>;

/** What answers requests, as runtimes that speak Fetch call it. */
export type Fetch = (request: Request) => Promise<Response>;

/** One way in which a vendor is wrong: the reference vendor with one thing changed. */
export type Breakage = {
  /** What is wrong, in one sentence. */
  readonly wrong: string;
  /** The requirement that catches it. */
  readonly caughtBy: RequirementId;
  /** Operations in place of the right ones. */
  readonly operations?: (right: Right, disk: Disk) => { readonly [Id in keyof Right]?: Operation<Id> };
  /** What is done to requests and answers. */
  readonly fetch?: (right: Fetch) => Fetch;
  readonly authenticate?: (right: Authenticate) => Authenticate;
  /** What requests are compared with, in place of what it says that it offers. */
  readonly offer?: (right: Offer) => Offer;
  /** Nothing makes it do one change after another. */
  readonly isHasty?: true;
  /** How long the kit waits for one operation, in milliseconds, where one never ends. */
  readonly timeoutMs?: number;
  /** What it takes to see it: a restart, tokens that a key has signed, bytes that are read and written. */
  readonly needs?: 'restart' | 'key' | 'data';
};

/** The answer with some of its members changed; what is no document stays as it is. */
export async function changed(
  answer: AnyAnswer | Promise<AnyAnswer>,
  change: (document: Members) => object,
): Promise<AnyAnswer> {
  const [status, document] = await answer;
  return document ? [status, { ...document, ...change(document as Members) }] : [status];
}

/** Parameters of any name pass. */
export function withoutSchemas(right: Offer): Offer {
  return { ...right, parameters: {} };
}

/** A document as it is answered. */
export type Members = Record<string, unknown> & { readonly id: string; readonly sizeBytes: number };

/** True for requests of this method on a path that matches. */
export function isFor(request: Request, method: string, path: RegExp): boolean {
  return request.method === method && path.test(new URL(request.url).pathname);
}
