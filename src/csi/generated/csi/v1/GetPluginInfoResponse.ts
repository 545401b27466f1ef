// Generated from proto/csi.proto. Do not edit.

export interface GetPluginInfoResponse {
  /** required; a DNS-like name of at most 63 characters, the same forever */
  'name'?: (string);
  /** required; free text */
  'vendor_version'?: (string);
  /** anything else worth telling a human */
  'manifest'?: ({[key: string]: string});
}

export interface GetPluginInfoResponse__Output {
  /** required; a DNS-like name of at most 63 characters, the same forever */
  'name': (string);
  /** required; free text */
  'vendor_version': (string);
  /** anything else worth telling a human */
  'manifest': ({[key: string]: string});
}
