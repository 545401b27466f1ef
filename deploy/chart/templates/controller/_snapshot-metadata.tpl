{{/* True if backup programs can get changed blocks. Fails for values that would prevent it. */}}
{{- define "fairlead.hasChangedBlocks" -}}
{{- if .Values.sidecars.snapshotMetadata.enabled -}}
{{- if or (not .Values.controller.enabled) (include "fairlead.isRemote" .) -}}{{- fail "sidecars.snapshotMetadata.enabled needs a controller in the cluster of the backup programs: set controller.enabled to true and remove remoteKubeconfig, or leave it off" -}}{{- end -}}
{{- if not (include "fairlead.hasSnapshotter" .) -}}{{- fail "sidecars.snapshotMetadata.enabled needs snapshots: install the CRDs of VolumeSnapshots, and set sidecars.snapshotter.enabled to auto" -}}{{- end -}}
true
{{- end -}}
{{- end }}

{{- define "fairlead.snapshotMetadataName" -}}
{{ include "fairlead.fullname" . }}-snapshot-metadata
{{- end }}

{{- define "fairlead.snapshotMetadataAudience" -}}
{{ .Values.sidecars.snapshotMetadata.audience | default .Values.driver.name }}
{{- end }}

{{/* The container of the sidecar: (list $ PORT-OF-METRICS). Unlike other sidecars it elects no leader: every replica answers. */}}
{{- define "fairlead.snapshotMetadata" -}}
{{- $ := index . 0 -}}
{{- $own := $.Values.sidecars.snapshotMetadata -}}
- name: snapshot-metadata
  image: {{ include "fairlead.image" (list $ $own.image) }}
  imagePullPolicy: {{ $own.image.pullPolicy }}
  {{- include "fairlead.limits" $own | indent 2 }}
  args:
    - --csi-address=/csi/csi.sock
    - --http-endpoint=:{{ index . 1 }}
    - --port=50051
    - --tls-cert=/etc/fairlead/snapshot-metadata/tls.crt
    - --tls-key=/etc/fairlead/snapshot-metadata/tls.key
    - --audience={{ include "fairlead.snapshotMetadataAudience" $ }}
    - --kube-api-qps={{ $.Values.sidecars.kubeApiQps }}
    - --kube-api-burst={{ $.Values.sidecars.kubeApiBurst }}
    - --timeout={{ $.Values.sidecars.timeout }}
    - --v={{ $own.logLevel }}
    {{- with $own.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $own.extraEnv }}
  env: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - name: metadata
      containerPort: {{ index . 1 }}
    - name: blocks
      containerPort: 50051
  readinessProbe:
    httpGet:
      path: /health
      port: metadata
    timeoutSeconds: 5
  volumeMounts:
    - name: socket
      mountPath: /csi
    - name: snapshot-metadata
      mountPath: /etc/fairlead/snapshot-metadata
      readOnly: true
{{- end }}
