import { readFileSync } from 'node:fs';
import { Hono } from 'hono';
import { Pool } from 'pg';
import { serveFloor } from './serve.ts';

// Serves a bare Hono route that makes two durable inserts before its answer: the floor of an operation with an intent
// and an outcome.
const pool = new Pool({ connectionString: readFileSync(process.argv[2] ?? '', 'utf8').trim(), max: 10 });
await pool.query('create table if not exists floor (id text not null, step bigint not null, body text)');
const app = new Hono();
const insert = { name: 'insert', text: 'insert into floor (id, step, body) values ($1, $2, $3)' };
app.put('/v1/volumes/:id', async context => {
  const body = await context.req.text();
  for (const step of [1, 2]) await pool.query({ ...insert, values: [context.req.param('id'), step, body] });
  return context.json(JSON.parse(body) as object);
});
serveFloor(app);
