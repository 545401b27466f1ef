import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';

const source = fileURLToPath(new URL('../gateway/console/browser/', import.meta.url));
const target = fileURLToPath(new URL('../node_modules/.cache/fairlead/console/', import.meta.url));

if (import.meta.main) await buildConsole(target);

/** Builds the pages of the console for browsers into the directory, each file also compressed. Returns their parts. */
export async function buildConsole(directory: string): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    entryPoints: { console: join(source, 'main.tsx'), style: join(source, 'style.css') },
    outdir: directory,
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    // The exchange on `fetch`, as for other runtimes than Node.js.
    conditions: ['workerd'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'error',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  files.set('index.html', new TextEncoder().encode(indexOf([...files.keys()])));
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [name, contents] of files) {
    writeFileSync(join(directory, name), contents);
    writeFileSync(join(directory, `${name}.br`), brotliCompressSync(contents));
  }
  return metafile;
}

function indexOf(names: readonly string[]): string {
  const find = (ending: string): string => names.find(name => name.endsWith(ending)) ?? '';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Fairlead</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/console/assets/${find('.css')}" />
    <script type="module" src="/console/assets/${find('.js')}"></script>
  </head>
  <body>
    <div id="console"></div>
    <noscript>The console needs JavaScript. The command line shows the same: fairlead status</noscript>
  </body>
</html>
`;
}
