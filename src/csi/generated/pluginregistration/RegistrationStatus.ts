// Generated from proto/pluginregistration.proto. Do not edit.

export interface RegistrationStatus {
  'plugin_registered'?: (boolean);
  /** why not; empty when registered */
  'error'?: (string);
}

export interface RegistrationStatus__Output {
  'plugin_registered': (boolean);
  /** why not; empty when registered */
  'error': (string);
}
