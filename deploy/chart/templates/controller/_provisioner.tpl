{{- define "fairlead.provisionerArgs" -}}
- --worker-threads={{ .Values.sidecars.provisioner.workers }}
- --extra-create-metadata
{{- /* A claim that failed and was deleted leaves a finalizer at its snapshot until this sweep, which reads a cache. */}}
- --snapshot-orphan-sweep-interval=1m
{{- if .Values.topology.enabled }}
- --strict-topology={{ .Values.topology.strict }}
{{- end }}
{{- if include "fairlead.hasCapacity" . }}
- --enable-capacity
- --kube-api-capacity-qps={{ .Values.sidecars.provisioner.capacityQps }}
- --kube-api-capacity-burst={{ .Values.sidecars.provisioner.capacityBurst }}
- --capacity-ownerref-level={{ ternary "-1" "2" (not (empty (include "fairlead.isRemote" .))) }}
{{- end }}
{{- end }}

{{/* The variables that name the owner of the provisioner's CSIStorageCapacity objects. */}}
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

{{/* True if capacities are reported. Without topology the provisioner would mistake each of its capacities for another driver's, and delete it. */}}
{{- define "fairlead.hasCapacity" -}}
{{- if and .Values.driver.storageCapacity .Values.topology.enabled }}true{{ end }}
{{- end }}
