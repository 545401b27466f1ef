import { callOnce } from '../../../src/csi/client.ts';
import type { PluginInfo__Output } from '../../../src/csi/generated/pluginregistration/PluginInfo.ts';
import type { RegistrationStatus } from '../../../src/csi/generated/pluginregistration/RegistrationStatus.ts';
import { loadRegistration } from '../../../src/csi/protocol.ts';

/** The plug-in's description of itself. */
export type PluginInfo = PluginInfo__Output;

/** Kubelet's own timeouts. */
const infoTimeoutMs = 1_000;
const notifyTimeoutMs = 5_000;

/** Asks the plug-in behind a registration socket for its description. */
export function askInfo(socketPath: string): Promise<PluginInfo> {
  return callOnce(socketPath, loadRegistration(), ({ GetInfo }) => GetInfo({}, infoTimeoutMs));
}

/** Tells the plug-in the outcome of its registration. */
export async function notify(socketPath: string, status: RegistrationStatus): Promise<void> {
  await callOnce(socketPath, loadRegistration(), calls =>
    calls.NotifyRegistrationStatus(status, notifyTimeoutMs),
  );
}
