import type { Hono } from 'hono';
import { parametersSpecSchema, sizeSpecSchema } from '../../src/api/resources.ts';
import { routes } from '../../src/api/routes.ts';
import type { Log } from '../../src/lib/log.ts';
import { answerAccepted, outcomeOf, type Env } from './respond.ts';
import { readPageQuery } from '../tables/paging.ts';
import { parseBody } from './request.ts';
import type { Services } from '../services.ts';

/** Expansion, modification and health of volumes. */
export function routeVolumeChanges(app: Hono<Env>, services: Services, log: Log): void {
  const { volumes, expansion, modification, health } = services;

  app.put(routes.size, async c => {
    const spec = parseBody(await c.get('body'), sizeSpecSchema);
    const [cluster, id] = [c.get('cluster').name, c.req.param('volumeId')];
    const outcome = await outcomeOf(c, expansion.expand(cluster, id, spec), log);
    return outcome ? c.json(outcome.value) : answerAccepted(c, await volumes.find(cluster, id));
  });

  app.put(routes.parameters, async c => {
    const { mutableParameters } = parseBody(await c.get('body'), parametersSpecSchema);
    const [cluster, id] = [c.get('cluster').name, c.req.param('volumeId')];
    const outcome = await outcomeOf(c, modification.modify(cluster, id, mutableParameters), log);
    return outcome ? c.json(outcome.value) : answerAccepted(c, await volumes.find(cluster, id));
  });

  app.get(routes.health, async c => c.json(await health.get(c.get('cluster').name, c.req.param('volumeId'))));

  app.get(routes.volumesHealth, async c =>
    c.json(await health.list(c.get('cluster').name, readPageQuery(c.req.query()))),
  );
}
