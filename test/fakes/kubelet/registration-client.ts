import { credentials, type ServiceError } from '@grpc/grpc-js';
import type { PluginInfo__Output } from '../../../src/csi/generated/pluginregistration/PluginInfo.ts';
import type { RegistrationClient } from '../../../src/csi/generated/pluginregistration/Registration.ts';
import type { RegistrationStatus } from '../../../src/csi/generated/pluginregistration/RegistrationStatus.ts';
import { loadRegistration } from '../../../src/csi/protocol.ts';

/** What a plug-in says of itself. */
export type PluginInfo = PluginInfo__Output;

type Answer<T> = (error: ServiceError | null, response?: T) => void;

/** Kubelet's own bounds. */
const infoTimeoutMs = 1_000;
const notifyTimeoutMs = 5_000;

/** Asks the plug-in behind a registration socket who it is. */
export function askInfo(socketPath: string): Promise<PluginInfo> {
  return ask(socketPath, (client, answer) => {
    client.GetInfo({}, { deadline: Date.now() + infoTimeoutMs }, answer);
  });
}

/** Tells the plug-in how its registration went. */
export async function notify(socketPath: string, status: RegistrationStatus): Promise<void> {
  await ask(socketPath, (client, answer) => {
    client.NotifyRegistrationStatus(status, { deadline: Date.now() + notifyTimeoutMs }, answer);
  });
}

async function ask<T>(
  socketPath: string,
  call: (client: RegistrationClient, answer: Answer<T>) => void,
): Promise<T> {
  const Registration = loadRegistration();
  const client = new Registration(`unix://${socketPath}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  try {
    return await new Promise<T>((resolve, reject) => {
      call(client, (error, response) => {
        if (error || response === undefined) reject(error ?? new Error('no answer'));
        else resolve(response);
      });
    });
  } finally {
    client.close();
  }
}
