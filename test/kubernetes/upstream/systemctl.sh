#!/bin/sh
# Stops, starts and shows the kubelet of a node of the test clusters, which no systemd runs. Its command line and the path
# of its log are kept while it is stopped.
set -eu
kept=/run/kubelet

main() {
  case $1 in
  stop) stop ;;
  start) is_active || start ;;
  show) if is_active; then echo active; else echo inactive; fi ;;
  *) exit 1 ;;
  esac
}

is_active() { pgrep -x kubelet >/dev/null; }

stop() {
  pid=$(pgrep -x kubelet) || return 0
  cat "/proc/$pid/cmdline" >$kept.command
  readlink "/proc/$pid/fd/1" >$kept.log
  kill "$pid"
  while is_active; do sleep 0.1; done
}

start() {
  setsid --fork xargs --null --arg-file=$kept.command env >>"$(cat $kept.log)" 2>&1 </dev/null
  until is_active; do sleep 0.1; done
}

main "$@"
