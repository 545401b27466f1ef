import { createRequire } from 'node:module';
import type { ServiceDefinition } from '@grpc/grpc-js';
import type * as controller from './generated/csi/v1/Controller.ts';
import type * as groups from './generated/csi/v1/GroupController.ts';
import type * as identity from './generated/csi/v1/Identity.ts';
import type * as node from './generated/csi/v1/Node.ts';
import type * as metadata from './generated/csi/v1/SnapshotMetadata.ts';
import type * as registration from './generated/pluginregistration/Registration.ts';

/** The methods of the CSI services, by the services' names. */
export type Csi = {
  readonly Controller: controller.ControllerDefinition;
  readonly GroupController: groups.GroupControllerDefinition;
  readonly Identity: identity.IdentityDefinition;
  readonly Node: node.NodeDefinition;
  readonly SnapshotMetadata: metadata.SnapshotMetadataDefinition;
};

/** The generated code that reads and writes each type of message, by its full name. */
export type Messages = {
  readonly [fullName: string]: {
    fromObject(value: object): object;
    encode(message: object): { finish(): Uint8Array };
    decode(bytes: Uint8Array): object;
    toObject(message: object, options: object): object;
  };
};

/** The methods of each service, by the service's full name; messages are named in full. */
export type Services = Readonly<Record<string, readonly Method[]>>;

type Method = {
  readonly name: string;
  readonly request: string;
  readonly answer: string;
} & Pick<ServiceDefinition[string], 'requestStream' | 'responseStream'>;

/** How messages look in TypeScript: int64 and enum values as strings, defaults filled in, the name of a oneof's member. */
const shape = { longs: String, enums: String, defaults: true, oneofs: true };

type Generated = { readonly default: Messages; readonly services: Services };

/** Loads what is asked for and nothing else, at once: a program knows its services before it does anything. */
const require = createRequire(import.meta.url);

/** The whole of CSI. */
export function loadCsi(): Csi {
  return load<Csi>('csi');
}

/** Identity and Node alone, without the messages of the others: for the node agent, which is to cost little. */
export function loadNodeCsi(): Pick<Csi, 'Identity' | 'Node'> {
  return load<Csi>('node');
}

/** The service by which a plugin on a node makes itself known to kubelet. */
export function loadRegistration(): registration.RegistrationDefinition {
  return load<{ Registration: registration.RegistrationDefinition }>('pluginregistration').Registration;
}

/** Writes and reads the message with that full name; throws when there is none. */
export function codecOf(messages: Messages, fullName: string) {
  const type = messages[fullName];
  if (type === undefined) throw new Error(`there is no message "${fullName}"`);
  return {
    serialize: (value: object) => type.encode(type.fromObject(value)).finish() as Buffer,
    deserialize: (bytes: Uint8Array) => type.toObject(type.decode(bytes), shape),
  };
}

function toDefinition(messages: Messages, service: string, methods: readonly Method[]): ServiceDefinition {
  const entries = methods.map(({ name, request, answer, requestStream, responseStream }) => {
    const [asked, answered] = [codecOf(messages, request), codecOf(messages, answer)];
    const method = {
      path: `/${service}/${name}`,
      requestStream,
      responseStream,
      requestSerialize: asked.serialize,
      // Read where a problem can be answered: a request that cannot be read is not INTERNAL.
      requestDeserialize: (bytes: Uint8Array) => () => asked.deserialize(bytes),
      responseSerialize: answered.serialize,
      responseDeserialize: answered.deserialize,
    };
    return [name, method];
  });
  return Object.fromEntries(entries) as ServiceDefinition;
}

/** The services of a generated file by their names, without their packages. */
function load<Loaded>(file: string): Loaded {
  const { default: messages, services } = require(`./generated/${file}.messages.js`) as Generated;
  const entries = Object.entries(services).map(([fullName, methods]) => [
    fullName.split('.').at(-1),
    toDefinition(messages, fullName, methods),
  ]);
  return Object.fromEntries(entries) as Loaded;
}
