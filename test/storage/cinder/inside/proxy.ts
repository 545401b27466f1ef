import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../../../harness/listen.ts';
import type { CleanupScope } from '../../../harness/temporary.ts';
import type { StorageWay } from '../../../machine/gateway/mutations.ts';

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const passed = ['x-auth-token', 'openstack-api-version', 'content-type'];

/**
 * Starts a proxy to an endpoint of Cinder, and returns its address. Each call that changes something can be interrupted
 * before and after Cinder answers it. Equal calls for other volumes have the same name.
 */
export async function startProxy(t: CleanupScope, endpoint: string, way: StorageWay): Promise<string> {
  const { origin, pathname } = new URL(endpoint);
  const server = createServer(async (request, response) => {
    try {
      const answer = await forward(request, origin, way);
      const type = answer.headers.get('content-type');
      response.writeHead(answer.status, type ? { 'content-type': type } : {}).end(await answer.text());
    } catch {
      response.destroy();
    }
  });
  return `http://${await listen(t, server)}${pathname}`;
}

async function forward(request: IncomingMessage, origin: string, way: StorageWay): Promise<Response> {
  const { method = '', url = '', headers } = request;
  const body = await text(request);
  const [content = ''] = body === '' ? [] : Object.keys(JSON.parse(body) as object);
  const call = `${method} ${url.replaceAll(uuid, '*')} ${content}`;
  const isRead = method === 'GET';
  if (!isRead) await way.interrupt('before', call);
  const known = passed.map(name => [name, String(headers[name] ?? '')] as const);
  const answer = await fetch(`${origin}${url}`, {
    method,
    headers: Object.fromEntries(known.filter(([, value]) => value !== '')),
    ...(body !== '' && { body }),
  });
  if (!isRead) await way.interrupt('after', call);
  return answer;
}
