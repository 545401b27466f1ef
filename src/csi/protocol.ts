import { createRequire } from 'node:module';
import { loadPackageDefinition, type Client, type ServiceDefinition } from '@grpc/grpc-js';
import { toPackage, type Messages, type Services } from './codec.ts';
import type { ControllerClient, ControllerDefinition } from './generated/csi/v1/Controller.ts';
import type { GroupControllerClient, GroupControllerDefinition } from './generated/csi/v1/GroupController.ts';
import type { IdentityClient, IdentityDefinition } from './generated/csi/v1/Identity.ts';
import type { NodeClient, NodeDefinition } from './generated/csi/v1/Node.ts';
import type {
  SnapshotMetadataClient,
  SnapshotMetadataDefinition,
} from './generated/csi/v1/SnapshotMetadata.ts';
import type {
  RegistrationClient,
  RegistrationDefinition,
} from './generated/pluginregistration/Registration.ts';

/** A service's methods, and what makes clients of it. */
type Service<ServiceClient, Methods> = {
  new (...args: ConstructorParameters<typeof Client>): ServiceClient;
  readonly service: Methods;
};

/** The CSI services by name, with their client constructors. */
export type Csi = {
  readonly Controller: Service<ControllerClient, ControllerDefinition>;
  readonly GroupController: Service<GroupControllerClient, GroupControllerDefinition>;
  readonly Identity: Service<IdentityClient, IdentityDefinition>;
  readonly Node: Service<NodeClient, NodeDefinition>;
  readonly SnapshotMetadata: Service<SnapshotMetadataClient, SnapshotMetadataDefinition>;
};

/** The service by which a plugin on a node makes itself known to kubelet. */
type Registration = Service<RegistrationClient, RegistrationDefinition>;

/** A service's methods, as a gRPC server needs them. */
export type Definition = ServiceDefinition;

type Generated = { readonly default: Messages; readonly services: Services };

/** Loads what is asked for and nothing else, at once: a program knows its services before it does anything. */
const require = createRequire(import.meta.url);

/** The whole of CSI. */
export function loadCsi(): Csi {
  return load<{ csi: { v1: Csi } }>('csi').csi.v1;
}

/** Identity and Node alone, without the messages of the others: for the node agent, which is to cost little. */
export function loadNodeCsi(): Pick<Csi, 'Identity' | 'Node'> {
  return load<{ csi: { v1: Csi } }>('node').csi.v1;
}

/** The service by which a plugin on a node makes itself known to kubelet. */
export function loadRegistration(): Registration {
  const { pluginregistration } = load<{ pluginregistration: { Registration: Registration } }>(
    'pluginregistration',
  );
  return pluginregistration.Registration;
}

function load<Loaded>(name: string): Loaded {
  const { default: messages, services } = require(`./generated/${name}.messages.js`) as Generated;
  return loadPackageDefinition(toPackage(messages, services)) as unknown as Loaded;
}
