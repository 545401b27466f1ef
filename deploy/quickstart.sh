#!/bin/sh
# Makes a cluster of one node with Docker and runs all of Fairlead in it, with a pod that uses a volume.
# Usage: deploy/quickstart.sh [kind|k3d]; it needs docker, kubectl, helm, the tool itself, and dist/ of `npm run release`.
set -eu

tool=${1:-kind}
name=fairlead
cd "$(dirname "$0")/.."
fail() {
  echo "quickstart: $1" >&2
  exit 1
}
case "$tool" in
kind | k3d) ;;
*) fail "\"$tool\" is unknown: give kind or k3d" ;;
esac
for program in docker kubectl helm "$tool"; do
  command -v "$program" >/dev/null 2>&1 || fail "install $program first"
done
version=$(sed -n 's/^appVersion: *//p' deploy/chart/Chart.yaml)
archive=dist/fairlead-$version.tar
[ -e "$archive" ] || fail "$archive is missing: run npm run release, or put the release's files into dist/"

docker load --quiet --input "$archive"
if [ "$tool" = kind ]; then
  kind create cluster --name "$name" --wait 3m
  kind load image-archive "$archive" --name "$name"
  node=$name-control-plane
  remove="kind delete cluster --name $name"
else
  k3d cluster create "$name" --wait
  k3d image import "$archive" --cluster "$name"
  node=k3d-$name-server-0
  remove="k3d cluster delete $name"
fi

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
chmod 777 "$work"
docker run --rm --volume "$work:/out" "fairlead:$version" enroll "$name" --dir /out/keys
docker run --rm --volume "$work:/out" --entrypoint chmod "fairlead:$version" -R a+rX /out/keys
kubectl create namespace fairlead
kubectl apply --filename "$work/keys/$name.secret.yaml"
helm install fairlead deploy/chart --namespace fairlead --values "$work/keys/$name.values.yaml" \
  --values deploy/values/quickstart.yaml --set gateway.node="$node" --wait --timeout 5m
docker run --rm --volume "$work:/out" --entrypoint rm "fairlead:$version" -r /out/keys

kubectl apply --filename deploy/examples/read-write-once.yaml
kubectl wait --for=condition=Ready pod --all --timeout=3m
kubectl get pvc,pod
echo "done; \"$remove\" removes everything"
