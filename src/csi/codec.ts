import type { ServiceDefinition } from '@grpc/grpc-js';

/** One type of message as the generated code reads and writes it. */
export interface MessageType {
  fromObject(value: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): object;
}

/** The generated messages, by their full names. */
export type Messages = Readonly<Record<string, MessageType>>;

/** The methods of each service, by the service's full name; messages are named in full. */
export type Services = Readonly<Record<string, readonly Method[]>>;

type Method = {
  readonly name: string;
  readonly request: string;
  readonly answer: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
};

/** Reads and writes one type of message. */
export type Codec = {
  readonly serialize: (value: object) => Buffer;
  readonly deserialize: (bytes: Uint8Array) => object;
};

/** How messages look in TypeScript: int64 and enum values as strings, defaults filled in, the name of a oneof's member. */
const shape = { longs: String, enums: String, defaults: true, oneofs: true };

/** The services by their full names, as grpc-js takes them. */
export function toPackage(messages: Messages, services: Services): Record<string, ServiceDefinition> {
  const entries = Object.entries(services).map(([name, methods]) => [
    name,
    toService(messages, name, methods),
  ]);
  return Object.fromEntries(entries) as Record<string, ServiceDefinition>;
}

/** The codec of the message with that full name; throws when there is none. */
export function codecOf(messages: Messages, fullName: string): Codec {
  const type = messages[fullName];
  if (type === undefined) throw new Error(`there is no message "${fullName}"`);
  return {
    serialize: value => type.encode(type.fromObject(value)).finish() as Buffer,
    deserialize: bytes => type.toObject(type.decode(bytes), shape),
  };
}

function toService(messages: Messages, service: string, methods: readonly Method[]): ServiceDefinition {
  const entries = methods.map(({ name, request, answer, requestStream, responseStream }) => {
    const [asked, answered] = [codecOf(messages, request), codecOf(messages, answer)];
    const method = {
      path: `/${service}/${name}`,
      originalName: `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
      requestStream,
      responseStream,
      requestSerialize: asked.serialize,
      requestDeserialize: asked.deserialize,
      responseSerialize: answered.serialize,
      responseDeserialize: answered.deserialize,
    };
    return [name, method];
  });
  return Object.fromEntries(entries) as ServiceDefinition;
}
