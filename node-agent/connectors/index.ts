import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import type { Connector, DeviceConnector, ShareConnector } from '../connector.ts';
import { bind } from './bind.ts';
import { loop } from './loop.ts';
import { nfs } from './nfs.ts';

/** Every attach protocol's connector; the compiler names one that is missing. */
const connectors: { readonly [P in Protocol]: Connector<P> } = { loop, bind, nfs };

/** The connector for an attachment's protocol, when it brings a device. For what has none that is a fault of ours. */
export function deviceConnectorFor({ protocol }: Attachment): DeviceConnector<Protocol> {
  const connector: Connector<Protocol> = connectors[protocol];
  if (connector.kind === 'device') return connector;
  throw new Error(`a volume over ${protocol} has no device`);
}

/** The connector for an attachment's protocol, when it brings a share. */
export function shareConnectorFor({ protocol }: Attachment): ShareConnector<Protocol> | undefined {
  const connector: Connector<Protocol> = connectors[protocol];
  return connector.kind === 'share' ? connector : undefined;
}
