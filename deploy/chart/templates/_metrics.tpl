{{/* The ports with metrics of each part that runs here. */}}
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
