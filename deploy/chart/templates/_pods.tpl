{{- define "fairlead.image" -}}
{{- $image := index . 1 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default (index . 0).Chart.AppVersion $image.tag }}
{{- end -}}
{{- end }}

{{/* The fields that every pod has: (list $ VALUES). */}}
{{- define "fairlead.pod" -}}
{{- $ := index . 0 -}}
{{- $own := index . 1 -}}
# Otherwise Services named fairlead-… would set variables that look like settings.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ $own.terminationGracePeriodSeconds }}
{{- with concat $.Values.global.imagePullSecrets $.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $own.podSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $own.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with $own.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" $own.hostNetwork) }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The labels and annotations of a pod: (list $ PART VALUES), and optionally more annotations. They contain no version, so that
an upgrade replaces only pods that have changed.
*/}}
{{- define "fairlead.podMetadata" -}}
{{- $own := index . 2 -}}
labels: {{- toYaml (merge (dict) (include "fairlead.selector" (list (index . 0) (index . 1)) | fromYaml) $own.podLabels (index . 0).Values.commonLabels) | nindent 2 }}
{{- $annotations := merge (dict) $own.podAnnotations (index . 0).Values.commonAnnotations -}}
{{- if gt (len .) 3 }}{{ $annotations = merge $annotations (index . 3) }}{{ end }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The start of a Fairlead container: (list $ VALUES). */}}
{{- define "fairlead.container" -}}
{{- $ := index . 0 -}}
{{- $own := index . 1 -}}
image: {{ include "fairlead.image" (list $ $.Values.image) }}
imagePullPolicy: {{ $.Values.image.pullPolicy }}
{{- include "fairlead.limits" $own }}
{{- with $own.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "fairlead.limits" -}}
{{- with .resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .securityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The arguments that the controller and the agent share. */}}
{{- define "fairlead.plugin" -}}
{{- $words := .Values.driver.capabilities -}}
{{- if include "fairlead.hasChangedBlocks" . -}}{{- $words = append $words "changed-blocks" -}}{{- end -}}
{{- if .Values.topology.enabled -}}
{{- $words = append $words "topology" -}}
{{- if .Values.topology.snapshots -}}{{- $words = append $words "snapshot-topology" -}}{{- end -}}
{{- end -}}
- --driver-name={{ .Values.driver.name }}
- --plugin-capabilities={{ join "," $words | default "none" }}
{{- end }}

{{/* The directories that a protocol's tools share with the node's own services, by the names of their volumes. */}}
{{- define "fairlead.toolPaths" -}}
{{- $protocols := .Values.node.protocols -}}
{{- if or (not $protocols) (has "iscsi" $protocols) }}
iscsi: /etc/iscsi
iscsi-records: /var/lib/iscsi
multipath: /etc/multipath
{{- end }}
{{- if or (not $protocols) (has "nvme-tcp" $protocols) }}
nvme: /etc/nvme
{{- end }}
{{- end }}
