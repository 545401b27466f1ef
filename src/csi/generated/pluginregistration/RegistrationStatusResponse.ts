// Generated from proto/pluginregistration.proto. Do not edit.

export interface RegistrationStatusResponse {
}

export interface RegistrationStatusResponse__Output {
}
