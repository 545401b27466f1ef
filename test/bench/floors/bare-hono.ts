import { setFlagsFromString } from 'node:v8';
import { Hono } from 'hono';
import { serveFloor } from './serve.ts';

// Serves bare Hono routes, with these V8 flags if any: PUT returns its JSON body, and GET the given answer. The floor of
// one HTTP request.
const [answer = '{}', flags = ''] = process.argv.slice(2);
if (flags) setFlagsFromString(flags);
const body = JSON.parse(answer) as object;
const app = new Hono();
app.put('/v1/volumes/:id', async context => context.json(await context.req.json()));
app.get('/v1/volumes/:id', context => context.json(body));
serveFloor(app);
