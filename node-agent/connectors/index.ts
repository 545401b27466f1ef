import type { Attachment, AttachmentOf, Protocol } from '../../src/api/attachment.ts';
import type { Connector } from '../connector.ts';
import { loop } from './loop.ts';

/** Every attach protocol's connector; the compiler names one that is missing. */
const connectors: { readonly [P in Protocol]: Connector<P> } = { loop };

/** The connector for an attachment's protocol. */
export function connectorFor<P extends Protocol>(attachment: Attachment & AttachmentOf<P>): Connector<P> {
  return connectors[attachment.protocol];
}
