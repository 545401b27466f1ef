import type { Log } from '../../lib/log.ts';
import type { ApiServer } from './api-server.ts';

/** The message in the log for each reason; a warning is about a node that may need a person. */
const kinds = {
  NotDetached: { isWarning: true, message: 'the node may be dead' },
  Detached: { isWarning: false, message: 'the dead node' },
  NotInService: { isWarning: false, message: 'the node is not in service yet' },
  BackInService: { isWarning: false, message: 'the node is in service' },
} as const;

/** News about a dead node. `detail` is for people. */
export type DeadNodeNews = {
  /** The name of the Node. */
  readonly name: string;
  readonly reason: keyof typeof kinds;
  readonly detail: string;
};

type EventOptions = { readonly driverName: string; readonly log: Log };

/** Creates the report of news about dead nodes: as a line in the log and as an Event of the Node, once until it changes. */
export function createNews({ driverName, log }: EventOptions) {
  const last = new Map<string, string>();
  return async (server: ApiServer, { name, reason, detail }: DeadNodeNews): Promise<void> => {
    if (last.get(name) === `${reason} ${detail}`) return;
    const { isWarning, message } = kinds[reason];
    (isWarning ? log.warn : log.info)(message, { nodeId: name, detail });
    const time = new Date().toISOString().replace(/\.\d+/, '');
    const event = `${name}.${driverName}.${reason.toLowerCase()}`;
    const path = `/api/v1/namespaces/default/events/${encodeURIComponent(event)}`;
    await server.patch(`${path}?fieldManager=${driverName}&force=true`, 'application/apply-patch+yaml', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: event },
      // Commands that describe a Node look for Events with its name as the UID.
      involvedObject: { apiVersion: 'v1', kind: 'Node', name, uid: name },
      type: isWarning ? 'Warning' : 'Normal',
      reason,
      message: detail,
      source: { component: driverName },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    });
    last.set(name, `${reason} ${detail}`);
  };
}
