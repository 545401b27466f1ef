// Generated from proto/csi.proto. Do not edit.

export interface BoolValue {
  'value'?: (boolean);
}

export interface BoolValue__Output {
  'value': (boolean);
}
