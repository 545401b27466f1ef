{{/* The address of the gateway. */}}
{{- define "fairlead.gatewayUrl" -}}
{{- if .Values.gateway.url -}}
{{ .Values.gateway.url }}
{{- else if .Values.gateway.enabled -}}
{{ ternary "https" "http" (not (empty .Values.gateway.tlsSecret)) }}://{{ include "fairlead.fullname" . }}-gateway.{{ .Release.Namespace }}.svc:{{ .Values.gateway.port }}
{{- else -}}
{{ fail "gateway.url is empty: set it to the address of the gateway, or set gateway.enabled to run one here" }}
{{- end -}}
{{- end }}

{{/* The list of the pools' directories on the gateway's node. */}}
{{- define "fairlead.poolDirectories" -}}
{{- $found := list -}}
{{- if .Values.gateway.enabled -}}
{{- range .Values.gateway.pools -}}
{{- if and .dir (not .nfs) -}}{{- $found = append $found .dir -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{/* The list of directories for volumes over loop and bind; a pool's directory is for that pool only (POOL=PATH). */}}
{{- define "fairlead.localRoots" -}}
{{- $found := .Values.node.localRoots -}}
{{- if .Values.gateway.enabled -}}
{{- range $name, $pool := .Values.gateway.pools -}}
{{- if and $pool.dir (not $pool.nfs) -}}{{- $found = append $found (printf "%s=%s" $name $pool.dir) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{/* The list of the same directories, without pools and duplicates. */}}
{{- define "fairlead.localDirectories" -}}
{{- $found := list -}}
{{- range include "fairlead.localRoots" . | fromYamlArray -}}{{- $found = append $found (regexReplaceAll "^[a-z0-9-]+=" . "") -}}{{- end -}}
{{- $found | uniq | toYaml -}}
{{- end }}

{{/* The list of directories on the node that the gateway must own: the pools' and the store's. */}}
{{- define "fairlead.ownDirectories" -}}
{{- $found := include "fairlead.poolDirectories" . | fromYamlArray -}}
{{- if .Values.gateway.persistence.hostPath -}}{{- $found = append $found "/var/lib/fairlead-store" -}}{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{/* True if the gateway must be root: it removes directory volumes, which hold files of any user. */}}
{{- define "fairlead.needsRoot" -}}
{{- range .Values.gateway.pools }}{{ if eq .backend "dir" }}true{{ end }}{{ end -}}
{{- end }}

{{/* True if the nodes' topology has a key for the gateway's node. */}}
{{- define "fairlead.hasNodeKey" -}}
{{- if and .Values.topology.enabled .Values.gateway.enabled .Values.gateway.node }}true{{ end -}}
{{- end }}

{{/* The content of gateway.yaml. A pool on a node's disks gets the topology of that node. */}}
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

{{/* The mounts of the store and the pools in a container of the gateway. */}}
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
