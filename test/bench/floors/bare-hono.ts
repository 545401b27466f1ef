import { serve } from '@hono/node-server';
import { Hono } from 'hono';

// Serves a bare Hono route that reads a JSON body and returns it: the floor of one HTTP request.
const app = new Hono();
app.put('/v1/volumes/:id', async context => context.json(await context.req.json()));
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  process.send?.({ port }),
);
process.once('disconnect', () => {
  server.close();
  process.exit(0);
});
