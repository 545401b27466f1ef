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
{{- $operators := dict -}}
{{- if .Values.gateway.operators -}}{{- $_ := set $operators "keys" "operators.jwks.json" -}}{{- end -}}
{{- with .Values.gateway.operatorsOidc -}}
{{- $oidc := omit . "keySet" -}}
{{- if .keySet -}}{{- $_ := set $oidc "keys" "oidc.jwks.json" -}}{{- end -}}
{{- $_ := set $operators "oidc" $oidc -}}
{{- end -}}
{{- with $operators -}}{{- $_ := set $all "operators" . -}}{{- end -}}
{{- toYaml $all -}}
{{- end }}

{{/* The mounts of the store and the pools in a container of the gateway. */}}
{{- define "fairlead.gatewayMounts" -}}
{{- if not (include "fairlead.hasDatabase" .) }}
- name: store
  mountPath: /var/lib/fairlead-store
{{- end }}
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

{{/* True if the gateway's store is a PostgreSQL database, which replicas share. */}}
{{- define "fairlead.hasDatabase" -}}
{{- with .Values.gateway.store.postgres.urlSecret }}true{{ end -}}
{{- end }}

{{/* The Secrets of the gateway by the name of their volume, which is also their directory. */}}
{{- define "fairlead.gatewaySecrets" -}}
{{- with .Values.gateway -}}
{{- range $volume, $secret := dict "tls" .tlsSecret "client-ca" .clientCaSecret "keys" .keySecret }}
{{- with $secret }}
{{ $volume }}: {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}
{{- end }}

{{/* Fails for values that cannot be combined, because calls or records would be lost. */}}
{{- define "fairlead.requireHostable" -}}
{{- $own := .Values.gateway -}}
{{- $hasReplicas := gt (int $own.replicas) 1 -}}
{{- if and $own.clientCaSecret (not $own.tlsSecret) -}}{{- fail "gateway.clientCaSecret needs gateway.tlsSecret: a client shows its certificate only over TLS" -}}{{- end -}}
{{- if and $own.clientCaSecret (or $own.ingress.host $own.httpRoute.parentRefs) -}}{{- fail "gateway.clientCaSecret cannot be combined with gateway.ingress or gateway.httpRoute, which end TLS, so that the gateway never sees a client's certificate: use gateway.serviceType LoadBalancer" -}}{{- end -}}
{{- if include "fairlead.hasDatabase" . -}}
{{- if not $own.keySecret -}}{{- fail "gateway.store.postgres needs gateway.keySecret, the keys that all replicas sign with: make the file with \"fairlead enroll gateway\", and put it into a Secret as keys.json" -}}{{- end -}}
{{- if or $own.persistence.hostPath $own.persistence.existingClaim -}}{{- fail "gateway.persistence is for SQLite and cannot be combined with gateway.store.postgres: remove one of them" -}}{{- end -}}
{{- if lt (int $own.terminationGracePeriodSeconds) (add $own.preStopSeconds 10 | int) -}}{{- fail (printf "gateway.terminationGracePeriodSeconds is too short: set it to %d or more, 10 more than gateway.preStopSeconds" (add $own.preStopSeconds 10)) -}}{{- end -}}
{{- else if $hasReplicas -}}
{{- fail "gateway.replicas: several replicas cannot share a SQLite file; set gateway.store.postgres.urlSecret to a Secret with the URL of a PostgreSQL database, or gateway.replicas to 1" -}}
{{- end -}}
{{- if $hasReplicas -}}
{{- if $own.node -}}{{- fail "gateway.node holds all replicas on one node: remove it, or set gateway.replicas to 1" -}}{{- end -}}
{{- range $name, $pool := $own.pools -}}
{{- if eq $pool.backend "memory" -}}{{- fail (printf "gateway.pools.%s is in the memory of one process: remove it, or set gateway.replicas to 1" $name) -}}{{- end -}}
{{- if and $pool.dir (not $pool.nfs) -}}{{- fail (printf "gateway.pools.%s is on a machine's own disk, which one gateway alone can use: run a gateway on that machine and make it a pool with backend: rest, give a dir pool nfs, or set gateway.replicas to 1" $name) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The update strategy of replicas. A pool on a disk, and an upgrade of the store, need the end of all old ones first. */}}
{{- define "fairlead.gatewayStrategy" -}}
{{- if or .Values.gateway.store.upgrade (include "fairlead.poolDirectories" . | fromYamlArray) -}}
type: Recreate
{{- else -}}
{{- toYaml (.Values.gateway.updateStrategy | default (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxSurge" 1 "maxUnavailable" 0))) -}}
{{- end -}}
{{- end }}

{{/* The spread of the replicas. Only replicas of one revision, and nodes that can take one, count. */}}
{{- define "fairlead.gatewaySpread" -}}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "fairlead.selector" (list . "gateway") | fromYaml)) -}}
{{- $even := dict "maxSkew" 1 "matchLabelKeys" (list "pod-template-hash") -}}
{{- $spread := list
      (merge (dict "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "DoNotSchedule" "nodeTaintsPolicy" "Honor") $even)
      (merge (dict "topologyKey" "topology.kubernetes.io/zone" "whenUnsatisfiable" "ScheduleAnyway") $even) -}}
{{- $all := list -}}
{{- range .Values.gateway.topologySpreadConstraints | default $spread -}}{{- $all = append $all (merge (dict) . $selector) -}}{{- end -}}
{{- toYaml $all -}}
{{- end }}
