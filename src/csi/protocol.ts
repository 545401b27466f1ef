import { createRequire } from 'node:module';
import type { ServiceDefinition } from '@grpc/grpc-js';
import type * as controller from './generated/csi/v1/Controller.ts';
import type * as groups from './generated/csi/v1/GroupController.ts';
import type * as identity from './generated/csi/v1/Identity.ts';
import type * as node from './generated/csi/v1/Node.ts';
import type * as metadata from './generated/csi/v1/SnapshotMetadata.ts';
import type * as registration from './generated/pluginregistration/Registration.ts';

export type Csi = {
  readonly Controller: controller.ControllerDefinition;
  readonly GroupController: groups.GroupControllerDefinition;
  readonly Identity: identity.IdentityDefinition;
  readonly Node: node.NodeDefinition;
  readonly SnapshotMetadata: metadata.SnapshotMetadataDefinition;
};

/** The generated codec of each message type, by its full name. */
export type Messages = {
  readonly [fullName: string]: {
    fromObject(value: object): object;
    encode(message: object): { finish(): Uint8Array };
    decode(bytes: Uint8Array): object;
    toObject(message: object, options: object): object;
  };
};

/** The methods of each service, by its full name. Their messages have full names too. */
export type Services = Readonly<Record<string, readonly Method[]>>;

type Method = {
  readonly name: string;
  readonly request: string;
  readonly answer: string;
} & Pick<ServiceDefinition[string], 'requestStream' | 'responseStream'>;

/**
 * The shape of messages in TypeScript: int64 and enum values as strings, defaults filled in, and for each oneof the
 * name of its set member.
 */
const shape = { longs: String, enums: String, defaults: true, oneofs: true };

type GeneratedModule = { readonly default: Messages; readonly services: Services };

/** A synchronous `require` loads only the services that a program uses, before it starts. */
const require = createRequire(import.meta.url);

export function loadCsi(): Csi {
  return load<Csi>('csi');
}

/** Loads Identity and Node without the other services' messages, to keep the node agent small. */
export function loadNodeCsi(): Pick<Csi, 'Identity' | 'Node'> {
  return load<Csi>('node');
}

/** Loads kubelet's service for the registration of plugins. */
export function loadRegistration(): registration.RegistrationDefinition {
  return load<{ Registration: registration.RegistrationDefinition }>('pluginregistration').Registration;
}

/** Makes a codec for the message with this full name. Throws for an unknown name. */
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
    const [requestCodec, answerCodec] = [codecOf(messages, request), codecOf(messages, answer)];
    const method = {
      path: `/${service}/${name}`,
      requestStream,
      responseStream,
      requestSerialize: requestCodec.serialize,
      // The server decodes inside its handler, so that a malformed request is INVALID_ARGUMENT and not INTERNAL.
      requestDeserialize: (bytes: Uint8Array) => () => requestCodec.deserialize(bytes),
      responseSerialize: answerCodec.serialize,
      responseDeserialize: answerCodec.deserialize,
    };
    return [name, method];
  });
  return Object.fromEntries(entries) as ServiceDefinition;
}

function load<Loaded>(file: string): Loaded {
  const { default: messages, services } = require(`./generated/${file}.messages.js`) as GeneratedModule;
  const entries = Object.entries(services).map(([fullName, methods]) => [
    fullName.split('.').at(-1),
    toDefinition(messages, fullName, methods),
  ]);
  return Object.fromEntries(entries) as Loaded;
}
