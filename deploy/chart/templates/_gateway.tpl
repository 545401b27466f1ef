{{/* The address of the gateway. */}}
{{- define "fairlead.gatewayUrl" -}}
{{- if .Values.gateway.url -}}
{{ .Values.gateway.url }}
{{- else if .Values.gateway.enabled -}}
{{ ternary "https" "http" (not (empty .Values.gateway.tlsSecret)) }}://{{ include "fairlead.fullname" . }}-gateway.{{ .Release.Namespace }}.svc:{{ .Values.gateway.port }}
{{- else -}}
{{ fail "gateway.url is needed: the address of the gateway, or gateway.enabled" }}
{{- end -}}
{{- end }}

{{/* The directories of pools on the node of the gateway, as a list. */}}
{{- define "fairlead.poolDirectories" -}}
{{- $found := list -}}
{{- if .Values.gateway.enabled -}}
{{- range .Values.gateway.pools -}}
{{- if and .dir (not .nfs) -}}{{- $found = append $found .dir -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{/* The directories below which the agent takes volumes over loop and bind, as a list. */}}
{{- define "fairlead.localRoots" -}}
{{- concat .Values.node.localRoots (include "fairlead.poolDirectories" . | fromYamlArray) | uniq | toYaml -}}
{{- end }}

{{/* Where the gateway has directories of the node that are its own: those of pools, and of the store. */}}
{{- define "fairlead.ownDirectories" -}}
{{- $found := include "fairlead.poolDirectories" . | fromYamlArray -}}
{{- if .Values.gateway.persistence.hostPath -}}{{- $found = append $found "/var/lib/fairlead-store" -}}{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{/* True where the gateway removes files of any user: those in the directories that are volumes. */}}
{{- define "fairlead.needsRoot" -}}
{{- range .Values.gateway.pools }}{{ if eq .backend "dir" }}true{{ end }}{{ end -}}
{{- end }}

{{/* True where the topology of nodes says which of them is the gateway's. */}}
{{- define "fairlead.hasNodeKey" -}}
{{- if and .Values.topology.enabled .Values.gateway.enabled .Values.gateway.node }}true{{ end -}}
{{- end }}

{{/* gateway.yaml. A pool on the disks of one node is reached from there alone. */}}
{{- define "fairlead.gatewayConfig" -}}
{{- $pools := dict -}}
{{- range $name, $pool := .Values.gateway.pools -}}
{{- $own := deepCopy $pool -}}
{{- if and $pool.dir (not $pool.nfs) (not $pool.topology) (include "fairlead.hasNodeKey" $) -}}
{{- $_ := set $own "topology" (dict (printf "%s/node" $.Values.driver.name) $.Values.gateway.node) -}}
{{- end -}}
{{- $_ := set $pools $name $own -}}
{{- end -}}
{{- $clusters := dict -}}
{{- range $name, $cluster := .Values.gateway.clusters -}}
{{- $own := omit $cluster "keySet" "serviceAccount" -}}
{{- if $cluster.keySet -}}{{- $_ := set $own "keys" (printf "%s.jwks.json" $name) -}}{{- end -}}
{{- with $cluster.serviceAccount -}}
{{- $account := omit . "keySet" -}}
{{- if .keySet -}}{{- $_ := set $account "keys" (printf "%s.issuer.jwks.json" $name) -}}{{- end -}}
{{- $_ := set $own "serviceAccount" $account -}}
{{- end -}}
{{- $_ := set $clusters $name $own -}}
{{- end -}}
{{- $all := dict "pools" $pools "clusters" $clusters -}}
{{- if .Values.gateway.operators -}}
{{- $_ := set $all "operators" (dict "keys" "operators.jwks.json") -}}
{{- end -}}
{{- toYaml $all -}}
{{- end }}

{{/* Where the store and the pools are in a container of the gateway. */}}
{{- define "fairlead.gatewayMounts" -}}
- name: store
  mountPath: /var/lib/fairlead-store
{{- range $pool, $settings := .Values.gateway.pools }}
{{- if $settings.dir }}
- name: pool-{{ $pool }}
  mountPath: {{ $settings.dir }}
  {{- if not $settings.nfs }}
  mountPropagation: HostToContainer
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
