import { setTimeout } from 'node:timers/promises';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { Problem } from './problem.ts';

/** What an operation answers: its status and its document. */
export type Answer = readonly [status: 200 | 201 | 202 | 204, document?: object];
/** Operations by the ids that the OpenAPI document gives them; each gets ids, query and `body` in one object. */
export type Operations = Readonly<Record<string, (asked: never) => Answer | Promise<Answer>>>;

type Schema = z.core.JSONSchema.BaseSchema;
type Parameter = { name: string; in: string; schema: Schema };
type Body = { content: Record<string, { schema: Schema }> };
type Row = { operationId: string; parameters?: Parameter[]; requestBody?: Body };
type Document = {
  paths: Record<string, Record<string, Row>>;
  components: { schemas: Record<string, Schema> };
};
type Authenticate = (authorization: string | undefined) => Promise<void>;

const none: Answer = [204];

/** Serves the operations of the OpenAPI document: checks what is asked against it, and makes one change at a time. */
export function createVendor(operations: Operations, given: object, authenticate: Authenticate): Hono {
  const text = JSON.stringify(given).replaceAll('#/components/schemas/', '#/$defs/');
  const { paths, components }: Document = JSON.parse(text);
  const app = new Hono();
  let last: Promise<unknown> = Promise.resolve();
  app.use(async (c, next) => {
    await authenticate(c.req.header('authorization'));
    await next();
  });
  for (const [path, { parameters: shared, ...rows }] of Object.entries(paths))
    for (const [method, row] of Object.entries(rows)) {
      const parameters = [shared ?? [], row.parameters ?? []].flat() as unknown as readonly Parameter[];
      const read = createReader(parameters, row.requestBody, components.schemas);
      const run = operations[row.operationId] as ((asked: unknown) => Promise<Answer>) | undefined;
      const isChange = method === 'put' || method === 'delete';
      app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1'), async c => {
        if (!run) throw new Problem('UNIMPLEMENTED', `${row.operationId} is not offered`);
        const asked = await read(c);
        const work = isChange ? last.then(() => (asked ? run(asked) : none)) : run(asked);
        if (isChange) last = work.catch(() => {});
        const [status, found] = await (isChange ? Promise.race([work, late(c)]) : work);
        const headers = status === 202 ? { 'retry-after': '1' } : {};
        return found ? Response.json(found, { status, headers }) : new Response(null, { status, headers });
      });
    }
  app.notFound(c => new Problem('NOT_FOUND', `there is no ${c.req.method} ${c.req.path}`).toResponse());
  app.onError(error => {
    if (error instanceof Problem) return error.toResponse();
    process.stderr.write(`${error.stack}\n`);
    return new Problem('UNAVAILABLE', 'it failed, or may still be running').toResponse();
  });
  return app;
}

/** Reads what is asked for; nothing where it is the deletion of what can be no id. */
function createReader(all: readonly Parameter[], body: Body | undefined, $defs: Record<string, Schema>) {
  const parameters = all.filter(one => one.in !== 'header');
  const ids = parameters.filter(one => one.in === 'path').map(({ name }) => name);
  const bodySchema = body?.content['application/json']?.schema;
  const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]));
  if (bodySchema) properties['body'] = bodySchema;
  const required = bodySchema ? [...ids, 'body'] : ids;
  const zod = z.fromJSONSchema({ type: 'object', properties, required, $defs });
  return async (c: Context): Promise<unknown> => {
    const texts: Record<string, string> = { ...c.req.query(), ...c.req.param() };
    const given = parameters.map(({ name, schema: { type } }) => {
      const isNumber = type === 'integer' && /^-?\d+$/.test(texts[name] ?? '');
      return [name, isNumber ? Number(texts[name]) : texts[name] || undefined];
    });
    const json: unknown = bodySchema && (await c.req.json().catch(() => undefined));
    const { data, error } = zod.safeParse({ ...Object.fromEntries(given), body: json });
    if (!error) return data;
    const isId = ids.includes(String(error.issues[0]?.path[0]));
    if (isId && c.req.method === 'DELETE') return undefined;
    throw new Problem(
      isId && c.req.method === 'GET' ? 'NOT_FOUND' : 'INVALID_ARGUMENT',
      z.prettifyError(error),
    );
  };
}

/** Work that is not done once the caller does not want to wait any longer goes on; the same request joins it. */
function late(c: Context): Promise<Answer> {
  const seconds = /\bwait=(\d{1,3})\b/.exec(c.req.header('prefer') ?? '')?.[1] ?? 30;
  // Without any wait a storage that must be asked first could never be said to be done.
  return setTimeout(Math.min(Math.max(Number(seconds), 1), 60) * 1_000, [202], { ref: false });
}
