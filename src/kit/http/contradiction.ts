import { problemTable, type ProblemCode } from '../../api/problem.ts';
import { fault } from '../finding.ts';
import type { Exchange, RawRequest } from './exchange.ts';

type Trail = readonly Exchange[];

/**
 * Throws a fault if an answer to a read contradicts the answer to the last change at its path: a volume or an attachment that
 * is done reads as unfinished, or a detached volume reads as attached. So one such fault counts once, and not in each check.
 * While requests overlap, the last answer is not always the answer to the last change, so such a read is not judged.
 */
export function requireConsistent(trail: Trail, exchange: Exchange): void {
  const { request, answer } = exchange;
  if (request.method !== 'GET' || answer?.status !== 200 || exchange.isUnordered) return;
  const change = changesOf(trail).findLast(one => one.request.path === request.path);
  const status = change?.answer?.status ?? 0;
  const { state } = Object(answer.body) as { readonly state?: unknown };
  const isVolume = request.path.startsWith('/v1/volumes/');
  if (isVolume && (status === 200 || status === 201) && (state === 'creating' || state === 'attaching'))
    throw fault(`"${request.path}" is done, as answered with ${status}, and does not read as "${state}"`, {
      requirement: 'FL-1.3-2',
      exchange,
    });
  if (status === 204 && /^\/v1\/volumes\/[^/]+\/attachments\//.test(request.path))
    throw fault(
      `"${request.path}" is detached, as answered with 204, and does not read as "${String(state)}"`,
      {
        requirement: 'FL-4.3-1',
        exchange,
      },
    );
}

/** Finds requests at whose path the order of the changes is unknown. */
export function createOverlaps() {
  const paths = new Map<string, { open: number; started: number; isMixed: boolean }>();
  return {
    /** Notes the start of a request. The result notes its end, and returns true if the order is unknown. */
    start({ method, path }: RawRequest): () => boolean {
      const changes = paths.getOrInsertComputed(path, () => ({ open: 0, started: 0, isMixed: false }));
      const isAlone = changes.open === 0;
      if (method !== 'GET') {
        changes.isMixed = !isAlone;
        changes.open++;
        changes.started++;
      }
      const { started } = changes;
      return () => {
        if (method !== 'GET') changes.open--;
        return !isAlone || changes.isMixed || changes.started !== started;
      };
    },
  };
}

/** Lists the attachments that are detached, by the answers to the check. */
export function detachedAttachments(trail: Trail) {
  const last = new Map(changesOf(trail).map(({ answer, request: { path } }) => [path, answer?.status]));
  return [...last].flatMap(([path, status]) => {
    const [, volumeId, nodeId] = /^\/v1\/volumes\/([^/]+)\/attachments\/([^/]+)$/.exec(path) ?? [];
    if (status !== 204 || volumeId === undefined || nodeId === undefined) return [];
    return [{ volumeId: decodeURIComponent(volumeId), nodeId: decodeURIComponent(nodeId) }];
  });
}

/** Lists the requests that may have changed something. A request with a final problem has not. */
function changesOf(trail: Trail): Trail {
  return trail.filter(({ request, answer }) => {
    const { code } = Object(answer?.body) as { readonly code?: ProblemCode };
    return request.method !== 'GET' && !(code && problemTable[code]?.final);
  });
}
