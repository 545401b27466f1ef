// Generated from proto/csi.proto. Do not edit.

/** A location: domain to segment, such as "example.com/zone": "z1". All entries hold together. */
export interface Topology {
  'segments'?: ({[key: string]: string});
}

/** A location: domain to segment, such as "example.com/zone": "z1". All entries hold together. */
export interface Topology__Output {
  'segments': ({[key: string]: string});
}
