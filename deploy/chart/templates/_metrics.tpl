{{/* The metrics ports of each part that runs in this cluster. */}}
{{- define "fairlead.metricsPorts" -}}
{{- if .Values.metrics.enabled -}}
{{- if .Values.controller.enabled }}
controller: {{- include "fairlead.sidecarPorts" . | nindent 2 }}
  health: {{ .Values.controller.port }}
{{- end }}
{{- if not (include "fairlead.isRemote" .) }}
{{- if .Values.node.enabled }}
node:
  metrics: {{ .Values.node.port }}
{{- end }}
{{- if .Values.gateway.enabled }}
gateway:
  metrics: {{ .Values.gateway.metricsPort }}
{{- end }}
{{- end }}
{{- end -}}
{{- end }}
