// Generated from proto/pluginregistration.proto. Do not edit.

export interface PluginInfo {
  /** "CSIPlugin" for a storage driver */
  'type'?: (string);
  /** the name that GetPluginInfo tells */
  'name'?: (string);
  /** socket of the plugin itself; empty: this one */
  'endpoint'?: (string);
  /** of the plugin's own protocol; kubelet picks one */
  'supported_versions'?: (string)[];
}

export interface PluginInfo__Output {
  /** "CSIPlugin" for a storage driver */
  'type': (string);
  /** the name that GetPluginInfo tells */
  'name': (string);
  /** socket of the plugin itself; empty: this one */
  'endpoint': (string);
  /** of the plugin's own protocol; kubelet picks one */
  'supported_versions': (string)[];
}
