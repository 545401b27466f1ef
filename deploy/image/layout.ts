import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** The reference to a blob in the image's documents. */
type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

/** A layer: its compressed blob, and the digest of the uncompressed tar. */
type Layer = { readonly blob: Descriptor; readonly diffId: string };

/** The files of a root that go into a layer. All are owned by `user`, or else by root. */
type LayerContent = {
  readonly root: string;
  readonly paths: readonly string[];
  readonly exclude?: readonly string[];
  readonly user?: number;
};

const mediaType = (kind: string) => `application/vnd.oci.image.${kind}`;
const tarLimit = 1 << 30;
/** Min bytes of a layer that is cached once compressed: large layers change seldom and take long to compress. */
const minCachedBytes = 20e6;

/** Creates a directory in the form of an OCI image layout. `cache` is a directory for large compressed layers. */
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
    /** Packs files of a root into a layer. The build is reproducible: equal files give equal bytes. */
    addLayer(content: LayerContent): Layer {
      const tar = pack(content);
      const hash = sha256(tar);
      const blob = store('layer.v1.tar+gzip', compress(tar, join(cache, `${hash}.gz`)));
      return { blob, diffId: `sha256:${hash}` };
    },
    /** Writes the documents of an image, and returns the digest of its manifest. */
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

function pack({ root, paths, exclude = [], user = 0 }: LayerContent): Buffer {
  const flags = ['--create', '--format=ustar', '--sort=name', '--mtime=@0', '--directory', root];
  const owner = ['--numeric-owner', `--owner=:${user}`, `--group=:${user}`];
  const without = exclude.map(path => `--exclude=${path}`);
  return execFileSync('tar', [...flags, ...owner, ...without, '--', ...paths], { maxBuffer: tarLimit });
}

function compress(content: Buffer, cachePath: string): Buffer {
  if (existsSync(cachePath)) return readFileSync(cachePath);
  const compressed = gzipSync(content, { level: 9 });
  if (content.length < minCachedBytes) return compressed;
  writeFileSync(`${cachePath}.${process.pid}`, compressed);
  renameSync(`${cachePath}.${process.pid}`, cachePath);
  return compressed;
}

type Documents = {
  readonly name: string;
  readonly config: Descriptor;
  readonly manifest: Descriptor;
  readonly layers: readonly Layer[];
};

/** Writes the documents of the OCI layout, and the one that `docker load` reads. */
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
