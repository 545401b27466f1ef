import { setTimeout } from 'node:timers/promises';
import { Problem, toDocument } from '../../../../src/api/problem.ts';
import type { Breakage, Fetch } from '../breakage.ts';

const volumePath = /^\/v1\/volumes\/[^/]+$/;

/** Faults of requests, answers and errors. */
export const transport = {
  'html-404': {
    wrong: 'a missing resource is answered with a page of HTML, as a proxy does',
    caughtBy: 'FL-1.2-2',
    fetch: changeAnswers(async (_, answer) =>
      answer.status === 404 ? respond('<h1>Not Found</h1>', 404, 'text/html') : answer,
    ),
  },
  'error-as-text': {
    wrong: 'errors are text',
    caughtBy: 'FL-1.2-1',
    fetch: changeAnswers(async (_, answer) => {
      if (answer.status < 400) return answer;
      const { detail } = (await answer.json()) as { readonly detail: string };
      return respond(detail, answer.status, 'text/plain');
    }),
  },
  'status-of-another-code': {
    wrong: 'every error has the status 500',
    caughtBy: 'FL-1.2-1',
    fetch: changeAnswers(async (_, answer) =>
      answer.status < 400 ? answer : respond(await answer.text(), 500, 'application/problem+json'),
    ),
  },
  'wrong-content-type': {
    wrong: 'answers have the content type of text',
    caughtBy: 'FL-1.1-1',
    fetch: changeAnswers(async (_, answer) =>
      answer.status === 200 ? respond(await answer.text(), 200, 'text/plain') : answer,
    ),
  },
  'another-id': {
    wrong: "an answer has the vendor's own id of the volume",
    caughtBy: 'FL-1.1-3',
    fetch: changeAnswers(async (request, answer) => {
      if (!answer.ok || answer.status === 204 || !volumePath.test(pathOf(request))) return answer;
      const { id, ...volume } = (await answer.json()) as { readonly id: string };
      return Response.json({ ...volume, id: `vol-${id.length}` }, { status: answer.status });
    }),
  },
  'ids-without-case': {
    wrong: 'ids that differ only in case are the same volume',
    caughtBy: 'FL-1.1-4',
    fetch: right => async request => {
      const url = new URL(request.url);
      url.pathname = url.pathname.replace(/^\/v1\/volumes\/[^/]+/, found => found.toLowerCase());
      return right(new Request(url, request));
    },
  },
  'unknown-members': {
    wrong: 'unknown members of a body are ignored',
    caughtBy: 'FL-1.2-4',
    fetch: right => async request => {
      if (request.method !== 'PUT') return right(request);
      const { url, method, headers } = request;
      const body = (await request.text()).replaceAll(',"noSuchMember":true', '');
      return right(new Request(url, { method, headers, body }));
    },
  },
  'under-way-for-ever': {
    wrong: 'creating is answered with 202 forever',
    caughtBy: 'FL-1.3-1',
    timeoutMs: 2_000,
    operations: () => ({ createVolume: () => [202] }),
  },
  'lock-kept': {
    wrong: 'the lock of a request stays after its caller disconnects',
    caughtBy: 'FL-8.2-2',
    timeoutMs: 2_000,
    fetch(right) {
      const locked = new Set<string>();
      return async request => {
        const { method, signal } = request;
        const path = pathOf(request);
        if (method === 'GET') return right(request);
        if (locked.has(path)) return busy();
        locked.add(path);
        const answer = await right(request);
        await setTimeout(50);
        if (!signal.aborted) locked.delete(path);
        return answer;
      };
    },
  },
  'token-told': {
    wrong: 'an error contains the token of the request',
    caughtBy: 'FL-2.1-8',
    fetch: changeAnswers(async (request, answer) => {
      if (answer.status < 400) return answer;
      const problem = (await answer.json()) as { readonly detail: string };
      const detail = `${problem.detail} (${request.headers.get('authorization')})`;
      return respond(JSON.stringify({ ...problem, detail }), answer.status, 'application/problem+json');
    }),
  },
} as const satisfies Readonly<Record<string, Breakage>>;

function changeAnswers(change: (request: Request, answer: Response) => Promise<Response>) {
  return (right: Fetch): Fetch =>
    async request =>
      change(request, await right(request));
}

function busy(): Response {
  const document = toDocument(new Problem('ABORTED', 'another request works on it'));
  return respond(JSON.stringify(document), document.status, 'application/problem+json');
}

function respond(body: string, status: number, type: string): Response {
  return new Response(body, { status, headers: { 'content-type': type } });
}

function pathOf(request: Request): string {
  return new URL(request.url).pathname;
}
