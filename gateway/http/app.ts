import { Hono, type Context } from 'hono';
import {
  attachmentSpecSchema,
  capacitySpecSchema,
  nodeSpecSchema,
  validationSpecSchema,
  volumeSpecSchema,
  type Capabilities,
} from '../../src/api/resources.ts';
import { Problem } from '../../src/api/problem.ts';
import { routes } from '../../src/api/routes.ts';
import type { Log } from '../../src/lib/log.ts';
import { answerAccepted, answerProblem, outcomeOf, type Env } from './respond.ts';
import type { Authenticate } from './auth.ts';
import type { Backend } from '../backend.ts';
import { findCapacity } from '../volumes/capacity.ts';
import { featuresOf } from '../volumes/features.ts';
import { readPageQuery } from '../tables/paging.ts';
import { parseBody, readBody, requestIdOf } from './request.ts';
import { routeDocs, type Docs } from './docs.ts';
import { routeGroups, routeSnapshots } from './snapshots.ts';
import { routeVolumeChanges } from './volume-changes.ts';
import type { Services } from '../services.ts';

/** What the app serves. */
export type AppDeps = Services & {
  readonly backend: Backend;
  readonly authenticate: Authenticate;
  readonly version: string;
  readonly log: Log;
  readonly docs: Docs;
};

/** The Storage API v1 as a Fetch handler, for any runtime that speaks Fetch. */
export function createApp(deps: AppDeps): Hono<Env> {
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    const requestId = requestIdOf(c.req.header('x-request-id'));
    c.set('requestId', requestId);
    c.header('x-request-id', requestId);
    startBody(c);
    await next();
  });
  if (deps.docs.isPublic) routeDocs(app, deps);
  app.use(async (c, next) => {
    const caller = await deps.authenticate(c.req.header('authorization'));
    if (caller === 'operator') return c.notFound();
    c.set('cluster', caller);
    return next();
  });
  routeStorage(app, deps);
  routeVolumes(app, deps);
  routeVolumeChanges(app, deps, deps.log);
  routeSnapshots(app, deps, deps.log);
  routeGroups(app, deps, deps.log);
  routeAttachments(app, deps);
  routeNodes(app, deps);
  if (!deps.docs.isPublic) routeDocs(app, deps);
  app.notFound(c => {
    const problem = new Problem('NOT_FOUND', `there is no ${c.req.method} ${c.req.path}`);
    return answerProblem(c, problem, deps.log);
  });
  app.onError((error, c) => answerProblem(c, error, deps.log));
  return app;
}

/** A body is read before anything is waited for: one that nobody reads would hold up the connection. */
function startBody(c: Context<Env>): void {
  const { method } = c.req;
  const body = method === 'PUT' || method === 'POST' ? readBody(c.req.raw) : Promise.resolve('');
  // Who asks for the body sees why it failed; without a good token nobody does.
  body.catch(() => undefined);
  c.set('body', body);
}

function routeStorage(app: Hono<Env>, { backend, version }: AppDeps): void {
  app.get(routes.capabilities, c => {
    const { name, accessModes, accessTypes } = backend;
    const capabilities: Capabilities = {
      backend: name,
      version,
      accessModes: [...accessModes],
      accessTypes: [...accessTypes],
      features: featuresOf(backend),
    };
    return c.json(capabilities);
  });

  app.post(routes.capacity, async c =>
    c.json(await findCapacity(backend, parseBody(await c.get('body'), capacitySpecSchema))),
  );
}

function routeVolumes(app: Hono<Env>, { volumes, log }: AppDeps): void {
  app.get(routes.volumes, async c =>
    c.json(await volumes.list(c.get('cluster').name, readPageQuery(c.req.query()))),
  );

  app.put(routes.volume, async c => {
    const spec = parseBody(await c.get('body'), volumeSpecSchema);
    const [cluster, id] = [c.get('cluster').name, c.req.param('volumeId')];
    const outcome = await outcomeOf(c, volumes.create(cluster, id, spec), log);
    if (!outcome) return answerAccepted(c, await volumes.find(cluster, id));
    return c.json(outcome.value.volume, outcome.value.created ? 201 : 200);
  });

  app.get(routes.volume, async c =>
    c.json(await volumes.get(c.get('cluster').name, c.req.param('volumeId'))),
  );

  app.delete(routes.volume, async c => {
    const [cluster, id] = [c.get('cluster').name, c.req.param('volumeId')];
    const outcome = await outcomeOf(c, volumes.delete(cluster, id), log);
    if (!outcome) return answerAccepted(c, await volumes.find(cluster, id));
    return c.body(null, 204);
  });

  app.post(routes.validation, async c => {
    const spec = parseBody(await c.get('body'), validationSpecSchema);
    return c.json(await volumes.validate(c.get('cluster').name, c.req.param('volumeId'), spec));
  });
}

function routeAttachments(app: Hono<Env>, { attachments, volumes, log }: AppDeps): void {
  app.put(routes.attachment, async c => {
    const spec = parseBody(await c.get('body'), attachmentSpecSchema);
    const key = { cluster: c.get('cluster'), ...c.req.param() };
    const outcome = await outcomeOf(c, attachments.attach(key, spec), log);
    if (!outcome) return answerAccepted(c, await attachments.find(key));
    return c.json(outcome.value.attachment, outcome.value.created ? 201 : 200);
  });

  app.delete(routes.attachment, async c => {
    const key = { cluster: c.get('cluster'), ...c.req.param() };
    const outcome = await outcomeOf(c, attachments.detach(key), log);
    if (!outcome) return answerAccepted(c, await attachments.find(key));
    return c.body(null, 204);
  });

  app.delete(routes.attachments, async c => {
    const [cluster, volumeId] = [c.get('cluster'), c.req.param('volumeId')];
    const outcome = await outcomeOf(c, attachments.detach({ cluster, volumeId }), log);
    if (!outcome) return answerAccepted(c, await volumes.find(cluster.name, volumeId));
    return c.body(null, 204);
  });
}

function routeNodes(app: Hono<Env>, { nodes }: AppDeps): void {
  app.put(routes.node, async c => {
    const spec = parseBody(await c.get('body'), nodeSpecSchema);
    const { node, created } = await nodes.put(c.get('cluster').name, c.req.param('nodeId'), spec);
    return c.json(node, created ? 201 : 200);
  });

  app.get(routes.node, async c => c.json(await nodes.get(c.get('cluster').name, c.req.param('nodeId'))));

  app.delete(routes.node, async c => {
    await nodes.delete(c.get('cluster').name, c.req.param('nodeId'));
    return c.body(null, 204);
  });
}
