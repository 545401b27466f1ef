import { serve } from '@hono/node-server';
import type { Hono } from 'hono';

/** Serves a floor and sends its port to the parent process, until that disconnects. */
export function serveFloor({ fetch }: Hono): void {
  serve({ fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => process.send?.({ port }));
  process.once('disconnect', () => process.exit(0));
}
