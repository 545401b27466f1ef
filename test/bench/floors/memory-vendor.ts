import { Hono } from 'hono';
import { serveFloor } from './serve.ts';

// Serves a vendor's required operations on volumes that are only counted: isolates the cost of a pool over REST.

type Body = { readonly name: string; readonly requiredBytes: number };

const volumes = new Map<string, object>();
const app = new Hono();
app.get('/v1/capabilities', c =>
  c.json({
    version: '1',
    accessModes: ['SINGLE_NODE_WRITER'],
    accessTypes: ['mount', 'block'],
    features: [],
    zeroed: true,
  }),
);
app.get('/v1/volumes', c => c.json({ volumes: [...volumes.values()] }));
app.put('/v1/volumes/:id', async c => {
  const id = c.req.param('id');
  const { name, requiredBytes } = await c.req.json<Body>();
  const createdAt = new Date().toISOString();
  const own = { state: 'ready', parameters: {}, context: {}, attachments: [], createdAt };
  const volume = { id, name, sizeBytes: requiredBytes, ...own };
  volumes.set(id, volume);
  return c.json(volume, 201);
});
app.delete('/v1/volumes/:id', c => {
  volumes.delete(c.req.param('id'));
  return c.body(null, 204);
});
serveFloor(app);
