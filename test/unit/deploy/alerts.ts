/**
 * A case of an alert: series with one sample a minute, a time when it does not fire yet, and a time when it fires with
 * these labels.
 */
export type AlertCase = {
  readonly series: Readonly<Record<string, string>>;
  readonly quietAt: string;
  readonly firesAt: string;
  readonly labels: Readonly<Record<string, string>>;
};

const instance = 'one:7701';
const at = `instance="${instance}"`;

/** Makes a series that is good for ten minutes and then bad. */
function gauge(series: string, good: number, bad: number): AlertCase['series'] {
  return { [series]: `${good}x10 ${bad}x60` };
}

/** Makes series of ten successful calls a minute, and from the tenth minute on as many failing ones. */
function failing(name: string, labels: string): AlertCase['series'] {
  return {
    [`${name}{${labels},code="OK"}`]: '0+10x70',
    [`${name}{${labels},code="UNAVAILABLE"}`]: '0x10 10+10x60',
  };
}

export const alertCases: Readonly<Record<string, AlertCase>> = {
  FairleadGatewayAbsent: {
    series: { [`fairlead_gateway_info{${at}}`]: '1x10' },
    quietAt: '10m',
    firesAt: '25m',
    labels: {},
  },
  FairleadStoreDown: {
    series: gauge(`fairlead_gateway_store_up{${at}}`, 1, 0),
    quietAt: '12m',
    firesAt: '15m',
    labels: { instance },
  },
  FairleadPoolUnreached: {
    series: {
      ...gauge(`fairlead_gateway_pool_reached{${at},pool="fast"}`, 1, 0),
      ...gauge(`fairlead_gateway_pool_reached{${at},pool="slow"}`, 0, 1),
      [`fairlead_gateway_pool_reached{instance="two",pool="slow"}`]: '1x70',
    },
    quietAt: '15m',
    firesAt: '20m',
    labels: { pool: 'fast' },
  },
  FairleadPoolSilent: {
    series: {
      ...gauge(`fairlead_gateway_pool_answers{${at},pool="fast"}`, 1, 0),
      // The way in which the storage fails changes each minute.
      [`fairlead_gateway_pool_outage{${at},pool="fast",outage="silent"}`]: '0x10' + ' 1 0'.repeat(30),
      [`fairlead_gateway_pool_outage{${at},pool="fast",outage="errors"}`]: '0x10' + ' 0 1'.repeat(30),
      [`fairlead_gateway_pool_reached{${at},pool="fast"}`]: '1x70',
      [`fairlead_gateway_pool_answers{${at},pool="never"}`]: '0x70',
      [`fairlead_gateway_pool_reached{${at},pool="never"}`]: '0x70',
      [`fairlead_gateway_pool_answers{${at},pool="half"}`]: '0x70',
      [`fairlead_gateway_pool_answers{instance="two",pool="half"}`]: '1x70',
      [`fairlead_gateway_pool_reached{${at},pool="half"}`]: '1x70',
    },
    quietAt: '15m',
    firesAt: '20m',
    labels: { pool: 'fast' },
  },
  FairleadNodeMissing: {
    series: gauge(`fairlead_gateway_missing_nodes{${at},cluster="a"}`, 0, 1),
    quietAt: '25m',
    firesAt: '30m',
    labels: { cluster: 'a' },
  },
  FairleadClusterSilent: {
    series: {
      ...gauge(`fairlead_gateway_cluster_silent_seconds{${at},cluster="a"}`, 9, 4_000),
      ...gauge(`fairlead_gateway_cluster_silent_seconds{${at},cluster="b"}`, 9, 4_000),
      [`fairlead_gateway_cluster_silent_seconds{instance="two",cluster="b"}`]: '9x70',
    },
    quietAt: '20m',
    firesAt: '25m',
    labels: { cluster: 'a' },
  },
  FairleadOrphans: {
    series: { [`fairlead_gateway_findings{${at},pool="fast",problem="unknown"}`]: '1x200' },
    quietAt: '80m',
    firesAt: '100m',
    labels: { pool: 'fast' },
  },
  FairleadVolumesMissing: {
    series: gauge(`fairlead_gateway_findings{${at},pool="fast",problem="missing"}`, 0, 2),
    quietAt: '15m',
    firesAt: '20m',
    labels: { pool: 'fast' },
  },
  FairleadPoolFails: {
    series: failing('fairlead_gateway_backend_calls_total', `${at},pool="fast",method="create"`),
    quietAt: '12m',
    firesAt: '40m',
    labels: { pool: 'fast' },
  },
  FairleadPoolFills: {
    series: {
      ...gauge(`fairlead_gateway_reserved_bytes{${at},pool="fast",cluster="a"}`, 10, 60),
      ...gauge(`fairlead_gateway_reserved_bytes{${at},pool="fast",cluster="b"}`, 10, 35),
      [`fairlead_gateway_reserved_bytes{instance="two",pool="fast",cluster="a"}`]: '10x70',
      [`fairlead_gateway_deleted_bytes{${at},pool="fast",cluster="a"}`]: '0x70',
      [`fairlead_gateway_deleted_bytes{${at},pool="fast",cluster="b"}`]: '0x70',
      [`fairlead_gateway_deleted_bytes{instance="two",pool="fast",cluster="a"}`]: '0x70',
      // Soft-deleted volumes fill no pool.
      [`fairlead_gateway_reserved_bytes{${at},pool="slow",cluster="a"}`]: '95x70',
      [`fairlead_gateway_deleted_bytes{${at},pool="slow",cluster="a"}`]: '20x70',
      [`fairlead_gateway_pool_capacity_bytes{${at},pool="slow"}`]: '100x70',
      [`fairlead_gateway_pool_capacity_bytes{${at},pool="fast"}`]: '100x70',
    },
    quietAt: '20m',
    firesAt: '30m',
    labels: { pool: 'fast' },
  },
  FairleadRequestsFail: {
    series: failing('fairlead_gateway_requests_total', `${at},operation="createVolume"`),
    quietAt: '12m',
    firesAt: '40m',
    labels: { operation: 'createVolume' },
  },
  FairleadRequestsSlow: {
    series: {
      [`fairlead_gateway_request_duration_seconds_bucket{${at},operation="attachVolume",le="10"}`]: '0x70',
      [`fairlead_gateway_request_duration_seconds_bucket{${at},operation="attachVolume",le="60"}`]: '0+5x70',
      [`fairlead_gateway_request_duration_seconds_bucket{${at},operation="attachVolume",le="+Inf"}`]:
        '0+5x70',
      [`fairlead_gateway_request_duration_seconds_bucket{${at},operation="createVolume",le="+Inf"}`]:
        '0+5x70',
    },
    quietAt: '10m',
    firesAt: '30m',
    labels: { operation: 'attachVolume' },
  },
  FairleadWorkStuck: {
    series: gauge(`fairlead_gateway_oldest_claim_seconds{${at}}`, 60, 2_000),
    quietAt: '14m',
    firesAt: '20m',
    labels: {},
  },
  FairleadQueueLong: {
    series: gauge(`fairlead_gateway_queue_oldest_seconds{${at}}`, 2, 90),
    quietAt: '19m',
    firesAt: '25m',
    labels: { instance },
  },
  FairleadTokensRefused: {
    series: { [`fairlead_gateway_refused_tokens_total{${at},reason="expired"}`]: '0x10 30+30x60' },
    quietAt: '20m',
    firesAt: '50m',
    labels: { reason: 'expired' },
  },
  FairleadKeysFaulty: {
    series: gauge(`fairlead_gateway_key_faults{${at}}`, 0, 1),
    quietAt: '15m',
    firesAt: '20m',
    labels: { instance },
  },
  FairleadClockOff: {
    series: gauge(`fairlead_gateway_clock_skew_seconds{${at}}`, 1, -90),
    quietAt: '15m',
    firesAt: '20m',
    labels: { instance },
  },
  FairleadGatewayCallsFail: {
    series: failing('fairlead_controller_gateway_calls_total', `${at},operation="createVolume"`),
    quietAt: '12m',
    firesAt: '40m',
    labels: { instance },
  },
  FairleadRpcsFail: {
    series: failing('fairlead_controller_rpcs_total', `${at},rpc="CreateVolume"`),
    quietAt: '15m',
    firesAt: '45m',
    labels: { rpc: 'CreateVolume' },
  },
  FairleadNodeRefused: {
    series: gauge(`fairlead_controller_refused_nodes{${at},reason="second-key"}`, 0, 1),
    quietAt: '11m',
    firesAt: '15m',
    labels: { reason: 'second-key' },
  },
  FairleadNodeUnregistered: {
    series: gauge(`fairlead_node_registered{${at}}`, 1, 0),
    quietAt: '20m',
    firesAt: '25m',
    labels: { instance },
  },
  FairleadVolumeUnhealthy: {
    series: gauge(`fairlead_node_volume_healthy{${at},volume_id="a.one"}`, 1, 0),
    quietAt: '15m',
    firesAt: '20m',
    labels: { instance, volume_id: 'a.one' },
  },
  FairleadCommandsStuck: {
    series: gauge(`fairlead_node_stuck_children{${at}}`, 0, 2),
    quietAt: '25m',
    firesAt: '30m',
    labels: { instance },
  },
  FairleadRecordsDamaged: {
    series: gauge(`fairlead_node_damaged_records{${at}}`, 0, 1),
    quietAt: '11m',
    firesAt: '15m',
    labels: { instance },
  },
};
