/**
 * The path of the events that tell operators of changes (server-sent events). Each `data` line says only that something
 * has changed. The stream ends with the token or session that opened it.
 */
export const changesPath = '/v1/admin/changes';

/** The interval at which the gateway sends something, in milliseconds, so that a stream that was cut shows. */
export const heartbeatEveryMs = 15_000;
