import { createRequire } from 'node:module';
import { loadPackageDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { toPackage, type Namespace, type Services } from './codec.ts';
import type { ProtoGrpcType } from './generated/csi.ts';
import type { ProtoGrpcType as RegistrationGrpcType } from './generated/pluginregistration.ts';

/** The CSI services by name, with their client constructors. */
export type Csi = ProtoGrpcType['csi']['v1'];

/** A service's methods, as a gRPC server needs them. */
export type Definition = ServiceDefinition;

type Messages = { readonly default: Namespace; readonly services: Services };

/** Loads what is asked for and nothing else, at once: a program knows its services before it does anything. */
const require = createRequire(import.meta.url);

/** The whole of CSI. */
export function loadCsi(): Csi {
  return load<ProtoGrpcType>('csi').csi.v1;
}

/** Identity and Node alone, without the messages of the others: for the node agent, which is to cost little. */
export function loadNodeCsi(): Pick<Csi, 'Identity' | 'Node'> {
  return load<ProtoGrpcType>('node').csi.v1;
}

/** The service by which a plugin on a node makes itself known to kubelet. */
export function loadRegistration(): RegistrationGrpcType['pluginregistration']['Registration'] {
  return load<RegistrationGrpcType>('pluginregistration').pluginregistration.Registration;
}

function load<Loaded>(name: string): Loaded {
  const { default: root, services } = require(`./generated/${name}.messages.js`) as Messages;
  return loadPackageDefinition(toPackage(root, services)) as unknown as Loaded;
}
