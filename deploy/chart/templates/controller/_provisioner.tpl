{{- define "fairlead.provisionerArgs" -}}
- --worker-threads={{ .Values.sidecars.provisioner.workers }}
- --extra-create-metadata
{{- if .Values.topology.enabled }}
- --strict-topology={{ .Values.topology.strict }}
{{- end }}
{{- if include "fairlead.hasCapacity" . }}
- --enable-capacity
- --capacity-ownerref-level={{ ternary "-1" "2" (not (empty (include "fairlead.isRemote" .))) }}
{{- end }}
{{- end }}

{{/* By these it finds the owner of the capacities that it reports. */}}
{{- define "fairlead.provisionerEnv" -}}
{{- if include "fairlead.hasCapacity" . }}
- name: NAMESPACE
  value: {{ include "fairlead.servedNamespace" . }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- end }}

{{/* Without topology the provisioner takes each capacity that it has reported for another's, and deletes it. */}}
{{- define "fairlead.hasCapacity" -}}
{{- if and .Values.driver.storageCapacity .Values.topology.enabled }}true{{ end }}
{{- end }}
