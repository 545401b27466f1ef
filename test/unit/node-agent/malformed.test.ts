import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startRegistration } from '../../../node-agent/plugin/registration.ts';
import nodeMessages, { services as nodeServices } from '../../../src/csi/generated/node.messages.js';
import messages, { services } from '../../../src/csi/generated/pluginregistration.messages.js';
import { silentLog as log } from '../../../src/lib/log.ts';
import { openFakeBench, openService } from '../../harness/node.ts';
import { testMalformedRequests } from '../../suites/malformed.ts';
import { serveCsi } from '../../harness/csi-serving.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

/** Longer than a test, so that no refusal of kubelet leads to another socket. */
const pauseMs = (): number => 2 ** 30;
const { request } = await openService(openFakeBench());

testMalformedRequests({
  messages: nodeMessages,
  services: nodeServices,
  whole: {
    ...request,
    volume_publish_path: request.target_path,
    capacity_range: { required_bytes: 1, limit_bytes: 2 },
    secrets: { key: 'value' },
  },
  async open(t) {
    const { node } = await openService(openFakeBench());
    return (await serveCsi(t, { node })).socketPath;
  },
});

testMalformedRequests({
  messages,
  services,
  whole: { plugin_registered: true, error: 'é' },
  async open(t) {
    const directory = join(temporaryDirectory(t), 'registry');
    mkdirSync(directory);
    const options = { directory, driverName: 'csi.test', endpoint: '/csi.sock', log, pauseMs };
    const registration = await startRegistration(options);
    t.after(() => registration.close());
    return join(directory, 'csi.test-reg.sock');
  },
});
