import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A blob of an image, as its documents speak of it. */
type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

/** A layer: the blob that is stored, and the digest of what it unpacks to. */
export type Layer = { readonly blob: Descriptor; readonly diffId: string };

/** What a layer holds of a root: all files are root's, or this user's. */
type Layering = {
  readonly root: string;
  readonly paths: readonly string[];
  readonly exclude?: readonly string[];
  readonly user?: number;
};

const mediaType = (what: string) => `application/vnd.oci.image.${what}`;
const tarLimit = 1 << 30;
/** From this size on a layer is one that changes seldom, in bytes. */
const leastKept = 20e6;

/** A directory in the form of an OCI image layout; `cache` keeps the large layers compressed. */
export function createLayout(directory: string, cache: string) {
  const blobs = join(directory, 'blobs/sha256');
  mkdirSync(blobs, { recursive: true });
  mkdirSync(cache, { recursive: true });
  const store = (type: string, content: Buffer): Descriptor => {
    const hash = sha256(content);
    writeFileSync(join(blobs, hash), content);
    return { mediaType: mediaType(type), digest: `sha256:${hash}`, size: content.length };
  };
  const storeJson = (type: string, document: object) => store(type, Buffer.from(JSON.stringify(document)));
  return {
    /** Packs files of a root: the same files give the same bytes, whoever built them and when. */
    addLayer(layering: Layering): Layer {
      const tar = pack(layering);
      const hash = sha256(tar);
      const blob = store('layer.v1.tar+gzip', compress(tar, join(cache, `${hash}.gz`)));
      return { blob, diffId: `sha256:${hash}` };
    },
    /** Writes the documents of an image that is known by `name`, and returns the digest of its manifest. */
    addImage(name: string, image: { readonly config: object; readonly layers: readonly Layer[] }): string {
      const { layers } = image;
      const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) };
      const config = storeJson('config.v1+json', { ...image.config, rootfs });
      const manifest = storeJson('manifest.v1+json', {
        schemaVersion: 2,
        mediaType: mediaType('manifest.v1+json'),
        config,
        layers: layers.map(({ blob }) => blob),
      });
      writeDocuments(directory, { name, config, manifest, layers });
      return manifest.digest;
    },
  };
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function pack({ root, paths, exclude = [], user = 0 }: Layering): Buffer {
  const how = ['--create', '--format=ustar', '--sort=name', '--mtime=@0', '--directory', root];
  const owner = ['--numeric-owner', `--owner=:${user}`, `--group=:${user}`];
  const without = exclude.map(path => `--exclude=${path}`);
  return execFileSync('tar', [...how, ...owner, ...without, '--', ...paths], { maxBuffer: tarLimit });
}

function compress(content: Buffer, kept: string): Buffer {
  if (existsSync(kept)) return readFileSync(kept);
  const compressed = gzipSync(content, { level: 9 });
  if (content.length < leastKept) return compressed;
  writeFileSync(`${kept}.${process.pid}`, compressed);
  renameSync(`${kept}.${process.pid}`, kept);
  return compressed;
}

type Documents = {
  readonly name: string;
  readonly config: Descriptor;
  readonly manifest: Descriptor;
  readonly layers: readonly Layer[];
};

/** The layout's own documents, and beside them the one that `docker load` reads. */
function writeDocuments(directory: string, { name, config, manifest, layers }: Documents): void {
  const write = (file: string, document: object) =>
    writeFileSync(join(directory, file), JSON.stringify(document));
  const annotations = {
    'io.containerd.image.name': name,
    'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
  };
  write('oci-layout', { imageLayoutVersion: '1.0.0' });
  write('index.json', {
    schemaVersion: 2,
    mediaType: mediaType('index.v1+json'),
    manifests: [{ ...manifest, annotations }],
  });
  write('manifest.json', [
    { Config: pathOf(config), RepoTags: [name], Layers: layers.map(({ blob }) => pathOf(blob)) },
  ]);
}

function pathOf({ digest }: Descriptor): string {
  return `blobs/${digest.replace(':', '/')}`;
}
