#!/bin/sh
# Prepares a checkout for Fairlead's programs or for the tests: installs the system's packages, then npm's.
set -eu

case "${1:-}" in
programs | tests) ;;
*)
  echo "Usage: deploy/set-up.sh programs|tests [OPTION OF npm ci ...]" >&2
  exit 2
  ;;
esac
cd "$(dirname "$0")/.."
purpose=$1
shift
deploy/install-tools.sh "$purpose"
echo "installing the packages of npm" >&2
# Without warnings of the Node.js version: everything runs on the Node.js that comes as the package "node".
npm ci --no-audit --no-fund --loglevel=error "$@"
