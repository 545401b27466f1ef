// Serves a Fetch handler in Deno and in Bun; a request for /sweep sweeps.
import { createServerless } from '../../../../gateway/entries/serverless.ts';

type Handler = (request: Request) => Promise<Response>;
type Serve = (options: { port: number; hostname: string; handler: Handler; fetch: Handler }) => object;

const directory = process.argv[2] ?? '';
const serverless = createServerless({ maxWaitMs: 25_000, directory });

async function answer(request: Request): Promise<Response> {
  if (!request.url.endsWith('/sweep'))
    return serverless.fetch(request, process.env, rest => void rest.catch(() => undefined));
  await serverless.sweep(process.env);
  return new Response('ok');
}

// The types of these runtimes' globals are not installed.
const { Deno, Bun } = globalThis as unknown as Readonly<Record<string, { serve: Serve } | undefined>>;
const server = (Deno ?? Bun)?.serve({ port: 0, hostname: '127.0.0.1', handler: answer, fetch: answer });
// Deno prints its address itself.
if (Bun) process.stdout.write(`${String((server as { readonly url: URL }).url)}\n`);
