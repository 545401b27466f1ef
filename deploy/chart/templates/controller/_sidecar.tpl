{{/* The container of a sidecar: (dict "root" $ "name" NAME "port" PORT "args" LIST "env" LIST). */}}
{{- define "fairlead.sidecar" -}}
{{- $ := .root -}}
{{- $own := index $.Values.sidecars .name -}}
- name: {{ .name }}
  image: {{ include "fairlead.image" (list $ $own.image) }}
  imagePullPolicy: {{ $own.image.pullPolicy }}
  {{- include "fairlead.limits" $own | indent 2 }}
  args:
    - --csi-address=/csi/csi.sock
    - --http-endpoint=:{{ .port }}
    - --leader-election
    - --leader-election-namespace={{ include "fairlead.servedNamespace" $ }}
    - --leader-election-lease-duration={{ $.Values.sidecars.leaseDuration }}
    - --retry-interval-max={{ $.Values.sidecars.retryIntervalMax }}
    - --kube-api-qps={{ $.Values.sidecars.kubeApiQps }}
    - --kube-api-burst={{ $.Values.sidecars.kubeApiBurst }}
    - --timeout={{ $.Values.sidecars.timeout }}
    - --v={{ $own.logLevel }}
    {{- if include "fairlead.isRemote" $ }}
    - --kubeconfig=/etc/fairlead/kubeconfig/{{ $.Values.remoteKubeconfig.secretKey }}
    {{- end }}
    {{- range .args }}
    - {{ . }}
    {{- end }}
    {{- with $own.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with concat .env $own.extraEnv }}
  env: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - name: {{ .name }}
      containerPort: {{ .port }}
  livenessProbe:
    httpGet:
      path: /healthz/leader-election
      port: {{ .name }}
    initialDelaySeconds: 20
    periodSeconds: 20
    timeoutSeconds: 5
    failureThreshold: 3
  volumeMounts:
    - name: socket
      mountPath: /csi
    {{- if include "fairlead.isRemote" $ }}
    - name: kubeconfig
      mountPath: /etc/fairlead/kubeconfig
      readOnly: true
    {{- end }}
{{- end }}

{{/* The metrics ports of the sidecars. */}}
{{- define "fairlead.sidecarPorts" -}}
provisioner: 8080
attacher: 8081
resizer: 8082
{{- if include "fairlead.hasSnapshotter" . }}
snapshotter: 8083
{{- end }}
{{- if include "fairlead.hasChangedBlocks" . }}
metadata: 8085
{{- end }}
{{- end }}

{{/* True if the snapshotter runs. Helm cannot look into another cluster, which is assumed to have the CRDs. */}}
{{- define "fairlead.hasSnapshotter" -}}
{{- $enabled := .Values.sidecars.snapshotter.enabled -}}
{{- if eq (toString $enabled) "auto" -}}
{{- if include "fairlead.isRemote" . }}true{{ else if .Capabilities.APIVersions.Has "snapshot.storage.k8s.io/v1" }}true{{ end -}}
{{- else if $enabled }}true{{ end -}}
{{- end }}

{{- define "fairlead.hasGroups" -}}
{{- if and (include "fairlead.hasSnapshotter" .) (has "group-snapshots" .Values.driver.capabilities) (or (include "fairlead.isRemote" .) (include "fairlead.groupVersion" .)) }}true{{ end -}}
{{- end }}

{{/* The versions of VolumeGroupSnapshot objects in the cluster; empty if there are none. */}}
{{- define "fairlead.groupVersion" -}}
{{- range list "groupsnapshot.storage.k8s.io/v1" "groupsnapshot.storage.k8s.io/v1beta2" -}}
{{- if $.Capabilities.APIVersions.Has . }}{{ . }} {{ end -}}
{{- end -}}
{{- end }}
