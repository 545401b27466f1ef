{{- define "fairlead.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $own .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* The labels that select the pods of a part. They must never change. Called with (list $ PART). */}}
{{- define "fairlead.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ default $.Chart.Name $.Values.nameOverride }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "fairlead.labels" -}}
{{- $ := index . 0 -}}
{{ include "fairlead.selector" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
helm.sh/chart: {{ $.Chart.Name }}-{{ $.Chart.Version }}
{{- with $.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: (list $ PART NAME), and optionally annotations and labels. An empty part means the whole chart. */}}
{{- define "fairlead.metadata" -}}
{{- $ := index . 0 -}}
{{- $more := list dict dict -}}
{{- if gt (len .) 3 -}}{{- $more = slice . 3 -}}{{- end -}}
name: {{ index . 2 }}
labels:
{{- $labels := include "fairlead.labels" (list $ (index . 1)) | fromYaml }}
{{- if gt (len $more) 1 }}{{ $labels = merge (dict) (index $more 1 | default dict) $labels }}{{ end }}
{{- toYaml $labels | nindent 2 }}
{{- with merge (dict) (index $more 0 | default dict) $.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The metadata of an object in the release's namespace. */}}
{{- define "fairlead.namespaced" -}}
{{ include "fairlead.metadata" . }}
namespace: {{ (index . 0).Release.Namespace }}
{{- end }}

{{- define "fairlead.accountName" -}}
{{- $ := index . 0 -}}
{{- $account := (index $.Values (index . 1)).serviceAccount -}}
{{- $own := printf "%s-%s" (include "fairlead.fullname" $) (index . 1) -}}
{{- if $account.create -}}{{ default $own $account.name }}{{- else -}}{{ default "default" $account.name }}{{- end -}}
{{- end }}

{{/* True if only a controller is installed, for another cluster. */}}
{{- define "fairlead.isRemote" -}}
{{- with .Values.remoteKubeconfig.secretName }}true{{ end -}}
{{- end }}

{{/* True if this release makes the driver and its classes: not for a controller of another cluster, nor for a gateway alone. */}}
{{- define "fairlead.hasDriver" -}}
{{- if and (or .Values.controller.enabled .Values.node.enabled) (not (include "fairlead.isRemote" .)) }}true{{ end -}}
{{- end }}

{{/* The name of the ConfigMap that tells the agents about drains. A remote controller's release and its agents' release use the same name. */}}
{{- define "fairlead.drainedName" -}}
{{ lower .Values.driver.name }}-drained-nodes
{{- end }}

{{/* The namespace, in the served cluster, of the leases, the capacities and that ConfigMap. */}}
{{- define "fairlead.servedNamespace" -}}
{{- ternary .Values.remoteKubeconfig.namespace .Release.Namespace (not (empty (include "fairlead.isRemote" .))) -}}
{{- end }}
