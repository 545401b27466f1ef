import { readFileSync } from 'node:fs';
import { loadPackageDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON, type Options } from '@grpc/proto-loader';
import type { ProtoGrpcType } from './generated/csi.ts';
import type { ProtoGrpcType as RegistrationGrpcType } from './generated/pluginregistration.ts';

/** How messages look in TypeScript: names as in the protocol, int64 and enum values as strings, defaults filled in. */
const options: Options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };

/** The CSI services by name, with their client constructors. */
export type Csi = ProtoGrpcType['csi']['v1'];

/** The whole of CSI, from its precompiled descriptor. */
export function loadCsi(): Csi {
  return load<ProtoGrpcType>('csi.json').csi.v1;
}

/** Identity and Node alone: a smaller descriptor for the node agent. */
export function loadNodeCsi(): Pick<Csi, 'Identity' | 'Node'> {
  return load<ProtoGrpcType>('node.json').csi.v1;
}

/** The service by which a plugin on a node makes itself known to kubelet. */
export function loadRegistration(): RegistrationGrpcType['pluginregistration']['Registration'] {
  return load<RegistrationGrpcType>('pluginregistration.json').pluginregistration.Registration;
}

/** A service's methods, as a gRPC server needs them. */
export type Definition = ServiceDefinition;

function load<Loaded>(name: string): Loaded {
  const descriptor = JSON.parse(
    readFileSync(new URL(`generated/${name}`, import.meta.url), 'utf8'),
  ) as Parameters<typeof fromJSON>[0];
  return loadPackageDefinition(fromJSON(descriptor, options)) as unknown as Loaded;
}
