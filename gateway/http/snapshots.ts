import type { Hono } from 'hono';
import { routes } from '../../src/api/routes.ts';
import { groupSpecSchema, snapshotSpecSchema } from '../../src/api/snapshot-resources.ts';
import type { Log } from '../../src/lib/log.ts';
import { answerAccepted, outcomeOf, type Env } from './respond.ts';
import { readBlockQuery } from '../snapshots/changed-blocks.ts';
import { readPageQuery } from '../tables/paging.ts';
import { parseBody } from './request.ts';
import type { Services } from '../services.ts';

/** Snapshots and their blocks. */
export function routeSnapshots(app: Hono<Env>, { snapshots, blocks }: Services, log: Log): void {
  app.get(routes.snapshots, async c => {
    const query = { ...readPageQuery(c.req.query()), volumeId: c.req.query('volumeId') };
    return c.json(await snapshots.list(c.get('cluster').name, query));
  });

  app.put(routes.snapshot, async c => {
    const spec = parseBody(await c.get('body'), snapshotSpecSchema);
    const [cluster, id] = [c.get('cluster').name, c.req.param('snapshotId')];
    const outcome = await outcomeOf(c, snapshots.create(cluster, id, spec), log);
    if (!outcome) return answerAccepted(c, await snapshots.find(cluster, id));
    return c.json(outcome.value.snapshot, outcome.value.created ? 201 : 200);
  });

  app.get(routes.snapshot, async c =>
    c.json(await snapshots.get(c.get('cluster').name, c.req.param('snapshotId'))),
  );

  app.delete(routes.snapshot, async c => {
    const [cluster, id] = [c.get('cluster').name, c.req.param('snapshotId')];
    const outcome = await outcomeOf(c, snapshots.delete(cluster, id), log);
    return outcome ? c.body(null, 204) : answerAccepted(c, await snapshots.find(cluster, id));
  });

  app.get(routes.blocks, async c => {
    const [cluster, id] = [c.get('cluster').name, c.req.param('snapshotId')];
    return c.json(await blocks.list(cluster, id, readBlockQuery(c.req.query())));
  });
}

/** Groups of snapshots. */
export function routeGroups(app: Hono<Env>, { groups }: Services, log: Log): void {
  app.put(routes.group, async c => {
    const spec = parseBody(await c.get('body'), groupSpecSchema);
    const [cluster, id] = [c.get('cluster').name, c.req.param('groupId')];
    const outcome = await outcomeOf(c, groups.create(cluster, id, spec), log);
    if (!outcome) return answerAccepted(c, await groups.find(cluster, id));
    return c.json(outcome.value.group, outcome.value.created ? 201 : 200);
  });

  app.get(routes.group, async c => c.json(await groups.get(c.get('cluster').name, c.req.param('groupId'))));

  app.delete(routes.group, async c => {
    const [cluster, id] = [c.get('cluster').name, c.req.param('groupId')];
    const outcome = await outcomeOf(c, groups.delete(cluster, id), log);
    return outcome ? c.body(null, 204) : answerAccepted(c, await groups.find(cluster, id));
  });
}
