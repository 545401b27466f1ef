import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

type Bytes = Uint8Array<ArrayBuffer>;

/** A file of the console as `prepare` has built it; `brotli` is the same, compressed. */
export type Asset = { readonly type: string; readonly plain: Bytes; readonly brotli: Bytes };

/** The files of the console by name. `index.html` names the others. A name changes with its content. */
export type Assets = ReadonlyMap<string, Asset>;

const directory = fileURLToPath(new URL('../../node_modules/.cache/fairlead/console/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=UTF-8',
  js: 'text/javascript; charset=UTF-8',
  css: 'text/css; charset=UTF-8',
};

/** Reads the files of the console. Throws one line that names the remedy if they have not been built. */
export async function readAssets(): Promise<Assets> {
  const names = await readdir(directory).catch((): string[] => []);
  if (!names.includes('index.html'))
    throw new Error(`the console has not been built: "${directory}" is empty; run npm run prepare`);
  const plain = names.filter(name => !name.endsWith('.br'));
  return new Map(await Promise.all(plain.map(async name => [name, await readAsset(name)] as const)));
}

async function readAsset(name: string): Promise<Asset> {
  const [plain, brotli] = await Promise.all([readBytes(name), readBytes(`${name}.br`)]);
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  return { type, plain, brotli };
}

async function readBytes(name: string): Promise<Bytes> {
  return new Uint8Array(await readFile(`${directory}${name}`));
}
