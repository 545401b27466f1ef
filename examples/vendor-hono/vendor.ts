import { setTimeout } from 'node:timers/promises';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { Problem } from './problem.ts';

/** What an operation answers: its status and its document. */
export type Answer = readonly [status: 200 | 201 | 202 | 204, document?: object];
/** Operations by the ids that the OpenAPI document gives them; each gets ids, query and `body` in one object. */
export type Operations = Readonly<Record<string, (asked: never) => Answer | Promise<Answer>>>;

type Schema = z.core.JSONSchema.BaseSchema;
type Schemas = Record<string, Schema>;
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type Body = { content: Record<string, { schema: Schema }> };
type Row = { operationId: string; parameters?: Parameter[]; requestBody?: Body };
type Paths = Record<string, { parameters?: Parameter[] } & Record<'get' | 'put' | 'post' | 'delete', Row>>;

/** Serves the operations of the OpenAPI document: checks what is asked against it, and makes one change at a time. */
export function createVendor(
  operations: Operations,
  document: object,
  authenticate: (authorization?: string) => Promise<void>,
): Hono {
  const text = JSON.stringify(document).replaceAll('#/components/schemas/', '#/$defs/');
  const { paths, components }: { paths: Paths; components: { schemas: Schemas } } = JSON.parse(text);
  const app = new Hono();
  const change = createQueue();
  app.use(async (c, next) => {
    await authenticate(c.req.header('authorization'));
    await next();
  });
  for (const [path, { parameters = [], ...rows }] of Object.entries(paths))
    for (const [method, row] of Object.entries(rows)) {
      const read = createReader(row, parameters, components.schemas);
      const run = operations[row.operationId] as ((asked: unknown) => Promise<Answer>) | undefined;
      app.on(method.toUpperCase(), path.replaceAll(/\{(\w+)\}/g, ':$1'), async c => {
        if (!run) throw new Problem('UNIMPLEMENTED', `${row.operationId} is not offered`);
        const asked = await read(c);
        const isChange = method === 'put' || method === 'delete';
        const [status, found] = isChange ? await change(c, asked, () => run(asked)) : await run(asked);
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

/** Reads what is asked for as the document has it. */
function createReader({ parameters = [], requestBody }: Row, shared: Parameter[], $defs: Schemas) {
  const schema = requestBody?.content['application/json']?.schema;
  const texts = [...shared, ...parameters].filter(one => one.in !== 'header');
  const all = schema ? [...texts, { name: 'body', required: true, schema }] : texts;
  const properties = Object.fromEntries(all.map(one => [one.name, one.schema]));
  const required = all.filter(one => one.required).map(one => one.name);
  const zod = z.fromJSONSchema({ type: 'object', properties, required, $defs });
  return async (c: Context): Promise<unknown> => {
    const given: Record<string, string> = { ...c.req.query(), ...c.req.param() };
    const values = texts.map(({ name, schema: { type } }) => {
      const isNumber = type === 'integer' && /^-?\d+$/.test(given[name] ?? '');
      return [name, isNumber ? Number(given[name]) : given[name] || undefined];
    });
    const body: unknown = schema && (await c.req.json().catch(() => undefined));
    const { data, error } = zod.safeParse({ ...Object.fromEntries(values), body });
    if (error) throw new Problem('INVALID_ARGUMENT', z.prettifyError(error));
    return data;
  };
}

/**
 * Runs one change after the other. What takes longer than its caller waits is answered 202 and goes on; the same request joins
 * it, or learns how it ended, for a minute. Nothing is begun anew until somebody knows how it ended.
 */
function createQueue() {
  const jobs = new Map<string, { request: string; work: Promise<Answer> }>();
  let last: Promise<unknown> = Promise.resolve();
  return async (c: Context, asked: unknown, run: () => Promise<Answer>): Promise<Answer> => {
    const resource = c.req.path.split('/', 4).join('/');
    const request = JSON.stringify([c.req.method, c.req.path, asked]);
    const known = jobs.get(resource);
    const job = known?.request === request ? known : { request, work: last.then(run) };
    const forget = () => jobs.get(resource) === job && jobs.delete(resource);
    const ended = job.work.then(Boolean, () => true);
    if (job !== known) {
      jobs.set(resource, job);
      last = ended;
      void ended.then(() => setTimeout(60_000, undefined, { ref: false })).then(forget);
    }
    const seconds = Number(/\bwait=(\d{1,3})\b/.exec(c.req.header('prefer') ?? '')?.[1] ?? 30);
    if (!(await Promise.race([ended, setTimeout(seconds * 1_000, false, { ref: false })]))) return [202];
    forget();
    return job.work;
  };
}
