import { setFlagsFromString } from 'node:v8';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

// Serves one volume from a bare Hono route, with the V8 flags of the gateway: the floor of one GET.
const [volume = '', flags = ''] = process.argv.slice(2);
if (flags) setFlagsFromString(flags);
const app = new Hono();
const body: unknown = JSON.parse(volume);
app.get('/v1/volumes/:id', context => context.json(body as object));
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  process.send?.({ port }),
);
process.once('disconnect', () => {
  server.close();
  process.exit(0);
});
