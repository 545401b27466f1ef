import type { Package } from './debian.ts';
import type { NpmPackage } from './programs.ts';

type Contents = {
  readonly version: string;
  readonly debian: readonly Package[];
  readonly npm: readonly NpmPackage[];
};

/** Writes the bill of materials as a CycloneDX document: the packages of Debian and npm, including Node.js. */
export function describeContents({ version, debian, npm }: Contents): string {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'container', 'bom-ref': 'fairlead', name: 'fairlead', version } },
    components: [...npm.map(describeNpm), ...debian.map(describeDebian)],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function describeNpm({ name, version, license, integrity }: NpmPackage) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [, hash] = /^sha512-(.+)$/.exec(integrity) ?? [];
  return {
    ...describe({ name, version, purl }),
    licenses: [{ expression: license }],
    ...(hash !== undefined && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    }),
  };
}

/** Describes a Debian package, without licences: these are in /usr/share/doc/NAME/copyright of the image. */
function describeDebian({ name, control }: Package) {
  const field = (key: string) => new RegExp(`^${key}: (.*)$`, 'm').exec(control)?.[1] ?? '';
  const version = field('Version');
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${field('Architecture')}`;
  return { ...describe({ name, version, purl }), supplier: { name: field('Maintainer') } };
}

function describe({ name, version, purl }: { name: string; version: string; purl: string }) {
  return { type: 'library', 'bom-ref': purl, name, version, purl };
}
