import { readFile } from 'node:fs/promises';
import type { Viewer } from './docs.ts';

/** Reads the viewer's files out of its package; they are needed so seldom that nobody keeps them. */
export async function readViewer(): Promise<Viewer> {
  const [script, style] = await Promise.all(
    ['swagger-ui-bundle.js', 'swagger-ui.css'].map(file =>
      readFile(new URL(import.meta.resolve(`swagger-ui-dist/${file}`)), 'utf8'),
    ),
  );
  return { script: script ?? '', style: style ?? '' };
}
