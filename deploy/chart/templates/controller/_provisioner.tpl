{{- define "fairlead.provisionerArgs" -}}
- --worker-threads={{ .Values.sidecars.provisioner.workers }}
- --extra-create-metadata
{{- if .Values.topology.enabled }}
- --strict-topology={{ .Values.topology.strict }}
{{- end }}
{{- if .Values.driver.storageCapacity }}
- --enable-capacity
- --capacity-ownerref-level={{ ternary "-1" "2" (not (empty (include "fairlead.isRemote" .))) }}
{{- end }}
{{- end }}

{{/* By these it finds the owner of the capacities that it reports. */}}
{{- define "fairlead.provisionerEnv" -}}
{{- if .Values.driver.storageCapacity }}
- name: NAMESPACE
  value: {{ include "fairlead.servedNamespace" . }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- end }}
